"""Waiting for the copies of a mapped task, and the reason when there is none that succeeded."""

import pytest
from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.lookups.left import NothingLeftError
from trellis.workflow.stages.ended import EndedOperator


class Ti:
    dag_id, run_id = "cells", "manual"

    def __init__(self, states):
        self.states = states

    def get_task_states(self, dag_id, run_ids):
        return {self.run_id: self.states}


def outcome(states, one_succeeded=True):
    """Return the error of a wait for `train`, whose copies `choose` decides on, or None."""
    alerts = []
    with DAG("cells"):
        before = [BaseOperator(task_id=name) for name in ("check", "choose", "train")]
        operator = EndedOperator(
            task_id="trained",
            of="train",
            made_by="choose",
            one_succeeded=one_succeeded,
            on_failure=alerts.append,
        )
        before[0] >> before[1] >> before[2] >> operator
        BaseOperator(task_id="bqml") >> operator
    try:
        operator.execute({"ti": Ti({"trained": "running", **states})})
    except AirflowFailException as error:
        found = error
    else:
        return None
    (on_failure,) = operator.on_failure_callback
    on_failure({"exception": found})
    # Of a failure that has sent its alert there is no second one.
    assert bool(alerts) == isinstance(found, NothingLeftError)
    return found


@pytest.mark.parametrize(
    ("states", "task"),
    [
        ({"choose": "success", "train": "upstream_failed"}, "choose"),
        ({"choose": "success", "train": "skipped"}, "train"),
        ({"choose": "success", "train_0": "skipped", "train_1": "skipped"}, "train"),
    ],
)
def test_nothing_was_left_and_the_message_names_the_task_to_clear(states, task):
    error = outcome(states)
    assert isinstance(error, NothingLeftError)
    assert f"clear `{task}`" in str(error)


@pytest.mark.parametrize(
    "states",
    [
        {"choose": "failed", "train": "upstream_failed"},
        {"choose": "success", "train_0": "failed", "train_1": "skipped"},
    ],
)
def test_a_failure_is_no_nothing(states):
    error = outcome(states)
    assert error is not None
    assert not isinstance(error, NothingLeftError)


def test_a_task_that_has_not_begun_has_no_log():
    states = {"check": "failed", "choose": "upstream_failed", "train": "upstream_failed"}
    text = str(outcome({**states, "bqml": "failed"}))
    assert "`check` failed" in text
    assert "log" not in text
    assert "bqml" not in text


@pytest.mark.parametrize(
    "states",
    [
        {"choose": "success", "train_0": "failed", "train_1": "success"},
        {"choose": "success", "train": "success"},
    ],
)
def test_one_that_succeeded_is_enough(states):
    assert outcome(states) is None


def test_without_the_demand_for_one_failures_do_not_stop_the_run():
    assert outcome({"choose": "success", "train_0": "failed"}, one_succeeded=False) is None
    lost = outcome({"choose": "success", "train": "upstream_failed"}, one_succeeded=False)
    assert isinstance(lost, NothingLeftError)
