"""Duration of a step's hold."""

from datetime import UTC, datetime, timedelta

import pytest
from airflow.sdk.exceptions import TaskDeferred

from trellis.workflow.stages.deploy.hold import HoldOperator
from trellis_contracts.deployment import Deployment


class DeploymentHooks:
    """A record of one step that was tested a minute ago, and of the share that there is now."""

    def __init__(self, share, tested):
        steps = ({"step": "smoke_10", "at": tested.isoformat()},)
        self.content = Deployment("R", "training/1", "E", "M@2", None, share=share, steps=steps)

    def record(self, context):
        return self

    def read(self):
        return self.content


@pytest.fixture
def tested():
    """A minute before the test begins; when pytest reads this file may be an hour before."""
    return datetime.now(UTC) - timedelta(minutes=1)


def hold(share, tested, **duration):
    hooks = DeploymentHooks(share, tested)
    operator = HoldOperator(task_id="hold_10", hooks=hooks, share=10, hold=timedelta(**duration))
    operator.execute({})


def test_a_step_is_held_from_its_test_on(tested):
    with pytest.raises(TaskDeferred) as deferred:
        hold(10, tested, minutes=30)
    assert deferred.value.trigger.moment == tested + timedelta(minutes=30)


def test_time_that_has_passed_does_not_pass_again(tested):
    hold(10, tested, seconds=59)


def test_a_step_that_was_left_behind_is_not_held_again(tested):
    hold(50, tested, hours=1)
