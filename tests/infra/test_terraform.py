"""The configuration is Terraform, in the google provider's own terms, and its own tests pass."""

import pytest

from tests.infra import terraform


def test_it_is_valid(infra):
    result = terraform.run(infra, "validate")
    assert result.code == 0, result.output


def test_it_is_formatted():
    result = terraform.run(terraform.INFRA, "fmt", "-check", "-diff", "-recursive")
    assert result.code == 0, result.output


def test_its_own_tests_pass(tested):
    runs = {
        event["@testrun"]: event["test_run"]["status"]
        for event in tested.events()
        if event["type"] == "test_run" and event["test_run"]["progress"] == "complete"
    }
    # A test of a refusal reports its error as well: what counts is whether the run passed.
    failed = {name for name, status in runs.items() if status != "pass"}
    assert not failed, [e["@message"] for e in tested.events() if e.get("@testrun") in failed]
    assert tested.code == 0
    assert runs.keys() >= {
        "defaults",
        "encrypted",
        "private",
        "public",
        "closed",
        "budget",
        "sources",
        "no_triggerer",
    }


@pytest.mark.parametrize(
    ("file", "right", "wrong", "complaint"),
    [
        (
            "storage.tf",
            "uniform_bucket_level_access = true",
            "uniform_bucket_access = true",
            'An argument named "uniform_bucket_access" is not expected here',
        ),
        (
            "bigquery.tf",
            "dataset_id  = var.dataset\n",
            "",
            'The argument "dataset_id" is required',
        ),
        (
            "composer.tf",
            "count     = var.triggerers\n",
            "",
            'The argument "count" is required',
        ),
        (
            "storage.tf",
            "retention_duration_seconds = 7 * 24 * 3600",
            'retention_duration_seconds = "a week"',
            "a number is required",
        ),
        (
            "registry.tf",
            "docker_config {",
            "docker_configuration {",
            'Blocks of type "docker_configuration" are not expected here',
        ),
        (
            "composer.tf",
            "google_composer_environment.airflow.config[0].dag_gcs_prefix",
            "google_composer_environment.airflow.config[0].dags",
            'no argument, nested block, or exported attribute named "dags"',
        ),
    ],
    ids=["argument", "required", "required in a block", "type", "block", "attribute"],
)
def test_what_the_provider_does_not_know_is_not_valid(tmp_path, file, right, wrong, complaint):
    result = terraform.run(terraform.copy(tmp_path, [(file, right, wrong)]), "validate")
    assert result.code == 1
    assert complaint in " ".join(result.output.split())
