"""A release removes an experiment that is gone from the checkout, unless it is at work."""

import json

import pytest

from tests.infra.release_checkout import GCLOUD, PLATFORM
from tests.wording import says


def there(checkout, *names):
    """Put experiments where the environment has its DAG files."""
    folder = "gs://us-central1-trellis-0123abcd-bucket/dags/trellis/experiments"
    text = "".join(f"{folder}/{name}.yaml\n" for name in names)
    (checkout.registry / "there").write_text(text)


@pytest.mark.parametrize("state", ["running", "queued"])
@pytest.mark.parametrize("dag", ["gone", "gone-predict", "gone-reserve"])
def test_an_experiment_with_a_run_in_flight_is_not_removed(checkout, dag, state):
    there(checkout, "digits", "gone")
    (checkout.registry / "gone").touch()
    (checkout.registry / f"{dag}.{state}").write_text('[{"dag_id": "x", "run_id": "manual__1"}]')
    result = checkout.run("dags.sh")
    assert result.returncode == 1
    assert f"a run of the DAG {dag} is {state}" in result.stderr
    assert not any("rsync" in command for command in checkout.asked)


def test_an_experiment_whose_runs_have_ended_is_removed(checkout):
    there(checkout, "digits", "gone")
    (checkout.registry / "gone").touch()
    # It stays, so it may run.
    (checkout.registry / "digits.running").write_text('[{"run_id": "manual__1"}]')
    assert checkout.run("dags.sh").returncode == 0
    assert "rsync" in checkout.asked[-1]
    assert not any("digits" in command for command in checkout.asked)


ENDPOINT = "projects/1/locations/us-central1/endpoints/7"


@pytest.mark.parametrize(
    ("traffic", "removed"),
    [
        ({"1": 90, "2": 10}, False),
        ({"1": 50, "2": 50}, False),
        # The other model is deployed, and gets nothing.
        ({"1": 100, "2": 0}, True),
        ({"1": 100}, True),
        ({}, True),
    ],
)
def test_an_experiment_whose_canary_is_half_done_is_not_removed(checkout, traffic, removed):
    """The run has failed: none is in flight, and the traffic stays divided."""
    there(checkout, "gone")
    (checkout.registry / "gone").touch()
    endpoints = [{"name": ENDPOINT, **({"trafficSplit": traffic} if traffic else {})}]
    (checkout.registry / "gone.endpoints").write_text(json.dumps(endpoints))
    result = checkout.run("dags.sh")
    assert (result.returncode == 0) == removed
    assert any("rsync" in command for command in checkout.asked) == removed
    if not removed:
        shares = "/".join(map(str, sorted(traffic.values())))
        assert says(result.stderr, "gone is to be removed", f"{ENDPOINT} {shares}")


def test_endpoints_that_are_not_known_stop_the_release(checkout):
    there(checkout, "gone")
    (checkout.registry / "gone").touch()
    checkout.program("bin/gcloud", GCLOUD.replace("echo '[]'", "exit 1"))
    result = checkout.run("removed.sh")
    assert result.returncode == 1
    assert "the endpoints of gone are not known" in result.stderr


def test_the_prefix_of_the_groups_dags_is_asked_for(checkout):
    there(checkout, "gone")
    (checkout.folder / "dags/platform.yaml").write_text(f"{PLATFORM}dag_prefix: lab-\n")
    (checkout.registry / "lab-gone.running").write_text('[{"run_id": "manual__1"}]')
    assert checkout.run("removed.sh").returncode == 1


def test_runs_that_are_not_known_stop_the_release(checkout):
    there(checkout, "gone")
    refusing = GCLOUD.replace("Dag id $1 not found", "permission denied")
    checkout.program("bin/gcloud", refusing)
    result = checkout.run("removed.sh")
    assert result.returncode == 1
    assert "permission denied" in result.stderr


def test_files_with_a_problem_are_not_released(checkout):
    program = "#!/bin/sh\necho $TRELLIS_PLATFORM $* >>$RECORD\nexit 1\n"
    checkout.program(".venv/airflow/bin/trellis", program)
    result = checkout.run("experiments.sh", PLATFORM="platform.yaml")
    assert result.returncode == 1
    (asked,) = checkout.asked
    assert asked.startswith("platform.yaml check dags/platform.yaml dags/experiments/")
    assert "Nothing was released" in result.stderr
