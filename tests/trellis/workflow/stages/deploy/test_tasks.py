"""The tasks of a deployment and their order, by what the file asks for."""

import itertools
from types import SimpleNamespace

import pytest

from trellis.workflow.assembly import rollback as rollback
from trellis.workflow.assembly import training, undeploy_previous
from trellis.workflow.validation.file import with_changes

GENTLE = {"canary": [10, 50, 100], "hold": "30 minutes", "keep_previous": "1 day"}
STEPS = [
    *("canary_10", "smoke_10", "hold_10"),
    *("shift_50", "smoke_50", "hold_50"),
    *("shift_100", "smoke_100"),
]


@pytest.fixture
def dag(digits, group):
    return training.build(with_changes(digits, {("deploy",): GENTLE}), group)


def downstream(dag, name):
    return {n.removeprefix("deploy.") for n in dag.get_task(f"deploy.{name}").downstream_task_ids}


def test_every_step_is_tested_and_held_before_the_next(dag):
    chain = ["register", "endpoint", *STEPS, "champion", "undeploy", "retention"]
    for before, after in itertools.pairwise(chain):
        assert after in downstream(dag, before)


def test_each_failure_from_the_canary_to_the_champion_leads_to_a_retreat(dag):
    retreat = dag.get_task("deploy.retreat")
    assert retreat.upstream_task_ids == {f"deploy.{name}" for name in [*STEPS, "champion"]}
    assert retreat.trigger_rule == "one_failed"


def test_nothing_that_follows_the_alias_is_taken_back(dag):
    assert downstream(dag, "champion") == {"undeploy", "retreat", "undeploy_previous"}
    assert downstream(dag, "retention") == {"settled"}


def test_shares_are_those_of_the_file(dag):
    shares = [dag.get_task(f"deploy.{n}").share for n in ("canary_10", "shift_50", "shift_100")]
    assert shares == [10, 50, 100]


def test_what_a_file_does_not_ask_for_is_no_task(digits, group):
    dag = training.build(with_changes(digits, {("deploy",): {"canary": [100]}}), group)
    names = [task.removeprefix("deploy.") for task in dag.task_ids if task.startswith("deploy.")]
    assert set(names) == {
        *("register", "endpoint", "canary_100", "smoke_100", "champion"),
        *("undeploy", "retention", "retreat"),
    }


def test_every_failed_task_says_why_in_the_record_too(dag):
    for name in ("register", "canary_10", "smoke_50", "champion", "retreat", "undeploy"):
        recorded, alerted = dag.get_task(f"deploy.{name}").on_failure_callback
        assert recorded.__name__ == "failed"
        assert alerted.__self__.__name__ == "on_failure"


def test_what_nobody_switches_on_runs_all_the_same(group, digits):
    """A run that is triggered in a paused DAG waits for ever."""
    for dag in (
        undeploy_previous.build(group, [digits.owner]),
        rollback.build({"digits": digits}, group),
    ):
        assert dag.is_paused_upon_creation is False


def test_a_failed_step_sends_the_alert_of_every_task(dag, caplog):
    """Beside its own callback, which notes the failure in deployment.json."""
    steps = [task for task in dag.tasks if task.task_id.startswith("deploy.")]
    assert len(steps) > 10
    for step in steps:
        caplog.clear()
        ti = SimpleNamespace(
            **{"task_id": step.task_id, "map_index": -1, "run_id": "r", "try_number": 1},
            log_url="http://airflow/log",
        )
        step.on_failure_callback[-1]({"ti": ti, "dag": dag, "exception": OSError("out of paper")})
        (said,) = [r.getMessage() for r in caplog.records if "TRELLIS FAILURE" in r.getMessage()]
        assert f"failed in {step.task_id}" in said
