from dataclasses import dataclass, field

import pytest
from airflow.sdk.exceptions import AirflowFailException

from tests.airflow_side import ROOT
from trellis.workflow.assembly import chain, training
from trellis.workflow.assembly.alerts import UNKNOWN, advice, message, on_failure, reported_already
from trellis.workflow.validation.file import load, with_changes


@dataclass
class Task:
    """The fields of Airflow's context that the callback reads."""

    task_id: str = "train"
    run_id: str = "demo"
    try_number: int = 1
    map_index: int = 1
    dag_id: str = "digits"
    log_url: str = "http://airflow/dags/digits/runs/demo/tasks/train/mapped/1?try_number=1"
    states: dict = field(default_factory=dict)

    def get_task_states(self, dag_id, run_ids):
        return dict.fromkeys(run_ids, self.states)


@dataclass
class Dag:
    dag_id: str = "digits"
    owner: str = "trellis"
    tasks: list = field(default_factory=list)


def context(**changes):
    return {"ti": Task(), "dag": Dag(), "exception": OSError("out of paper"), **changes}


def test_a_failure_names_stage_cause_and_what_to_do():
    text = message(context(), chain.advice())
    assert "TRELLIS FAILURE: digits failed in train [1]" in text
    assert "Run: demo, attempt 1. Owner: trellis" in text
    assert "Why: out of paper" in text
    assert "continue the training from its last checkpoint" in text
    assert "Log: http://airflow/dags/digits/runs/demo/tasks/train/mapped/1?try_number=1" in text


def test_a_lost_process_leaves_no_exception():
    assert "its process was lost" in message(context(exception=None), chain.advice())


def test_it_is_one_line_of_the_log_that_can_be_alerted_on(group, caplog):
    on_failure(group, chain.advice())(context())
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert "TRELLIS FAILURE" in record.getMessage()


@pytest.mark.parametrize(
    ("task", "exception", "states", "reported"),
    [
        # A copy of a task, and its run's result.
        (Task(), OSError(), {"train_0": "failed", "train_1": "failed"}, True),
        (Task(), OSError(), {"train_1": "failed", "trained": "success"}, False),
        (Task(), OSError(), {"tune": "failed", "train_other_0": "failed"}, False),
        (Task("result", map_index=-1), AirflowFailException(), {"train_0": "failed"}, True),
        (Task("result", map_index=-1), AirflowFailException(), {"train": "failed"}, True),
        (Task("result", map_index=-1), AirflowFailException(), {"repeat_1": "failed"}, True),
        (Task("result", map_index=-1), AirflowFailException(), {"deploy.smoke": "failed"}, True),
        # It fails by itself, or the other failure was no reason.
        (Task("result", map_index=-1), OSError(), {"train_0": "failed"}, False),
        (Task("result", map_index=-1), AirflowFailException(), {"bqml.x": "failed"}, False),
        (Task("compare", map_index=-1), OSError(), {"train_0": "failed"}, False),
    ],
)
def test_one_cause_is_reported_once(task, exception, states, reported):
    task.states = states
    found = reported_already(context(ti=task, exception=exception), chain.ends_run())
    assert found is reported


def test_there_is_advice_for_every_task_of_every_experiment(group):
    for file in sorted((ROOT / "dags/experiments").glob("*.yaml")):
        loaded = load(file)
        # Folds have no further seeds.
        experiment = loaded if loaded.folds else with_changes(loaded, {("train", "seeds"): 2})
        for task_id in training.build(experiment, group).task_ids:
            assert advice(chain.advice(), task_id) != UNKNOWN


def test_a_group_of_tasks_has_one_advice():
    words = {"a": "1", "b.": "2", "b.c": "3", "d_": "4"}
    ids = ["a", "b.x", "b.c", "d_x_y"]
    assert [advice(words, task_id) for task_id in ids] == ["1", "2", "3", "4"]
    assert advice(words, "a.b") == UNKNOWN


def test_a_step_of_a_deployment_is_no_baseline():
    words = chain.advice()
    assert "serves all requests" in advice(words, "deploy.canary_10")
    assert "baseline as failed" in advice(words, "bqml.logistic_reg")
    assert advice(words, "tune_linear") == advice(words, "tune")
