"""Sensitivity of infra's own tests: each change breaks one promise, and one run fails."""

import pytest

from tests.infra import terraform

CHANGES = {
    "no triggerer": ("composer.tf", "count     = var.triggerers", "count     = 0", "defaults"),
    "default account": (
        "composer.tf",
        "      service_account = google_service_account.composer.name\n",
        "",
        "defaults",
    ),
    "another platform file": (
        "composer.tf",
        "TRELLIS_PLATFORM = var.platform_file",
        'TRELLIS_PLATFORM = "platform-dev.yaml"',
        "defaults",
    ),
    "public bucket": (
        "storage.tf",
        'public_access_prevention    = "enforced"',
        'public_access_prevention    = "inherited"',
        "defaults",
    ),
    "models with an age": (
        "storage.tf",
        '      matches_prefix = ["dataflow/", "cloudbuild/"]\n',
        "",
        "defaults",
    ),
    "other words in the alert": (
        "alerts.tf",
        'words = "TRELLIS LATE"',
        'words = "ERROR"',
        "defaults",
    ),
    "no alert of drift": (
        "alerts.tf",
        'words = "TRELLIS WARNING"',
        'words = "Warning:"',
        "defaults",
    ),
    "an alert that reaches nobody": (
        "alerts.tf",
        """  display_name          = "${var.name}: no DAG processor works"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = local.channels
""",
        """  display_name          = "${var.name}: no DAG processor works"
  combiner              = "OR"
  severity              = "ERROR"
""",
        "defaults",
    ),
    "images that change": (
        "registry.tf",
        "immutable_tags = true",
        "immutable_tags = false",
        "defaults",
    ),
    "images that Airflow may delete": (
        "registry.tf",
        '"images" {\n  project       = var.images_project\n',
        '"images" {\n',
        "images",
    ),
    "PyPI first": ("registry.tf", "priority   = 200", "priority   = 50", "defaults"),
    "key elsewhere": ("encryption.tf", "location   = var.region", 'location   = "us"', "encrypted"),
    "no access to Google's APIs": (
        "network.tf",
        "private_ip_google_access = true",
        "private_ip_google_access = false",
        "private",
    ),
    "network by its ID": (
        "network.tf",
        "projects/${local.number}/",
        "projects/${var.project}/",
        "private",
    ),
    "budget of the whole account": (
        "alerts.tf",
        'projects = ["projects/${local.number}"]',
        "projects = []",
        "budget",
    ),
    "images that jobs may write": (
        "storage.tf",
        '  bucket = each.value.bucket\n  role   = "roles/storage.objectViewer"\n',
        '  bucket = each.value.bucket\n  role   = "roles/storage.objectUser"\n',
        "sources",
    ),
    "another end of the maintenance": (
        "composer.tf",
        '"${maintenance_window.value.hours}h"',
        '"4h"',
        "maintained",
    ),
    "maintenance that is too short": (
        "variables.tf",
        "length(distinct(var.maintenance_window.days)) >= 12",
        "length(distinct(var.maintenance_window.days)) >= 10",
        "maintenance_that_is_too_short",
    ),
    "any build of an image": (
        "variables.tf",
        "([4-9]|[1-9][0-9])[.][0-9]+)-build[.][0-9]+$",
        "([4-9]|[1-9][0-9])[.][0-9]+)(-build[.][0-9]+)?$",
        "build_not_pinned",
    ),
    "no triggerer allowed": (
        "variables.tf",
        "var.triggerers >= 1",
        "var.triggerers >= 0",
        "no_triggerer",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_broken_promise_fails_its_test(tmp_path, change):
    file, old, new, run = CHANGES[change]
    folder = terraform.copy(tmp_path, [(file, old, new)])
    result = terraform.run(folder, "test", "-json")
    status = {
        event["@testrun"]: event["test_run"]["status"]
        for event in result.events()
        if event["type"] == "test_run" and event["test_run"]["progress"] == "complete"
    }
    assert status[run] in ("fail", "error"), status
