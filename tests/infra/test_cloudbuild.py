"""infra/cloudbuild.yaml is a build as Cloud Build's API knows it, in an order that makes sense."""

import re

import pytest
import yaml
from google.cloud.devtools.cloudbuild_v1 import Build
from google.protobuf import json_format

from tests.infra import terraform

# https://docs.cloud.google.com/build/docs/configuring-builds/substitute-variable-values
GIVEN = {"PROJECT_ID", "LOCATION", "BUILD_ID"}


@pytest.fixture
def text():
    return (terraform.INFRA / "cloudbuild.yaml").read_text()


@pytest.fixture
def build(text):
    """The build as a message: an unknown field, or a value of another type, is an error."""
    return json_format.ParseDict(yaml.safe_load(text), Build.pb(Build()))


def test_it_is_a_build(build):
    assert [step.id for step in build.steps]
    assert (
        build.options.logging
        == json_format.ParseDict({"logging": "CLOUD_LOGGING_ONLY"}, type(build.options)()).logging
    ), "an account of ours needs it"


@pytest.mark.parametrize(
    "change",
    [{"step": []}, {"options": {"logging": "NOWHERE"}}, {"steps": [{"name": "bash", "arg": []}]}],
    ids=["field", "value", "field of a step"],
)
def test_what_is_no_build_is_noticed(text, change):
    with pytest.raises(json_format.ParseError):
        json_format.ParseDict(yaml.safe_load(text) | change, Build.pb(Build()))


def test_steps_wait_for_steps_before_them(build):
    before = set()
    for step in build.steps:
        assert set(step.wait_for) <= before, step.id
        before.add(step.id)


def test_nothing_is_released_before_it_was_tested(build):
    waits = {step.id: set(step.wait_for) for step in build.steps}

    def after(step):
        return waits[step].union(*map(after, waits[step]))

    for step in ("images", "wheel", "packages", "dags"):
        assert {"check", "test", "experiments", "terraform"} <= after(step)
    assert {"images", "documents", "scan", "wheel", "packages"} <= after("dags")
    # Images are looked at before Composer changes.
    assert {"documents", "scan"} <= after("packages")


def test_every_script_that_a_step_runs_is_there(build):
    scripts = [word for step in build.steps for word in step.args if word.startswith("infra/")]
    assert len(scripts) == 9
    for script in scripts:
        assert (terraform.ROOT / script).is_file(), script


def test_every_image_has_a_version_and_a_digest(build):
    images = {step.name for step in build.steps}
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", image) for image in images), images
    # Google's own Docker client has one tag.
    tagged = {image for image in images if "cloud-builders/docker" not in image}
    assert all(re.search(r":\d+\.\d+\.\d+", image) for image in tagged), tagged


def test_terraform_is_tested_with_the_version_that_tests_run_it_with(build, infra):
    version = terraform.run(infra, "version").output.split()[1].removeprefix("v")
    assert f"hashicorp/terraform:{version}" in {step.name.split("@")[0] for step in build.steps}


def test_every_variable_is_known(text):
    declared = set(yaml.safe_load(text)["substitutions"])
    used = set(re.findall(r"(?<!\$)\$\{?(\w+)", text.partition("substitutions:")[2]))
    assert used == declared | GIVEN


def test_the_command_that_terraform_prints_fits(plans, text):
    command = plans["defaults"]["output_changes"]["release"]["after"]
    given = dict(re.findall(r"(_\w+)=([^, ]*)", command))
    assert given.keys() == set(yaml.safe_load(text)["substitutions"])
    assert given["_DAGS_BUCKET"] == "us-central1-trellis-0123abcd-bucket"
    assert "--config=infra/cloudbuild.yaml" in command
    assert "--gcs-source-staging-dir=gs://our-lab-trellis/cloudbuild" in command
    assert "serviceAccounts/trellis-build@our-lab.iam.gserviceaccount.com" in command
