"""How long a step is held."""

from datetime import UTC, datetime, timedelta

import pytest
from airflow.sdk.exceptions import TaskDeferred

from trellis.workflow.stages.deploy.hold import HoldOperator

NOW = datetime.now(UTC)


class DeploymentHooks:
    """A record of one step that was tested a minute ago, and of the share that there is now."""

    def __init__(self, share):
        tested = (NOW - timedelta(minutes=1)).isoformat()
        self.content = {"share": share, "steps": [{"step": "smoke_10", "at": tested}]}

    def record(self, context):
        return self

    def read(self):
        return self.content


def hold(share, **duration):
    operator = HoldOperator(
        task_id="hold_10", hooks=DeploymentHooks(share), share=10, hold=timedelta(**duration)
    )
    operator.execute({})


def test_a_step_is_held_from_its_test_on():
    with pytest.raises(TaskDeferred) as deferred:
        hold(10, minutes=30)
    assert deferred.value.trigger.moment == NOW + timedelta(minutes=29)


def test_time_that_has_passed_does_not_pass_again():
    hold(10, seconds=59)


def test_a_step_that_was_left_behind_is_not_held_again():
    hold(50, hours=1)
