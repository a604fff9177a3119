"""No request fails while a model takes over from another, nor while it is taken back."""

import time

import pytest

from testbed import redeployment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

LONGEST = 600
"""Seconds of load."""
AT_LEAST = 60


def test_no_request_fails_during_a_shift_and_a_rollback(served_run, demo):
    airflow = demo.operator
    (old,) = [model["version"] for model in demo.serving()["models"]]

    run = f"load-{int(time.time())}"
    with demo.watched() as watch, demo.loaded(served_run, LONGEST) as shift:
        began = time.monotonic()
        redeployment.start(airflow, served_run, run, demo.serving())
        assert airflow.wait("digits", run) == "success"
        linger(began)
    new = demo.champion()
    print(f"shift: {shift}")
    assert watch.shares(new) == [0, 10, 50, 100]
    assert shift["failed"] == 0, shift["errors"]
    assert shift["by_version"].keys() == {old, new}

    with demo.watched() as watch, demo.loaded(served_run, LONGEST) as rollback:
        began = time.monotonic()
        back = f"back-{run}"
        airflow.unpause("rollback")
        airflow.trigger("rollback", back, {"experiment": "digits", "version": "previous"})
        assert airflow.wait("rollback", back) == "success"
        linger(began)
    print(f"rollback: {rollback}")
    assert rollback["failed"] == 0, rollback["errors"]
    assert rollback["by_version"].keys() == {old, new}
    assert watch.wrong == []
    (served,) = demo.serving()["models"]
    assert (served["version"], served["traffic"], served["aliases"]) == (old, 100, ["champion"])


def linger(began):
    """Until the load has lasted its time."""
    time.sleep(max(0, AT_LEAST - (time.monotonic() - began)))
