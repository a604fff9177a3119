"""hold: waiting time at a step, deferred, in which people and alerts can notice problems."""

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import BaseOperator

from trellis.workflow.stages.deploy.hooks import DeploymentHooks
from trellis_contracts.deployment import Deployment


class HoldOperator(BaseOperator):
    """Wait, deferred, until `hold` has passed since a step. Does not wait again if the share is
    already beyond the step's.

    :param hooks: of the run's deployment.
    :param share: the step's share, in percent.
    """

    def __init__(self, *, hooks: DeploymentHooks, share: int, hold: timedelta, **kwargs: Any):
        super().__init__(**kwargs)
        self.hooks = hooks
        self.share = share
        self.hold = hold

    def execute(self, context: Any) -> None:
        until = self._until(self.hooks.record(context).read())
        if until is None or until <= datetime.now(UTC):
            self.log.info("Nothing to wait for")
            return
        self.log.info("Waiting until %s", until.isoformat(timespec="seconds"))
        self.defer(trigger=DateTimeTrigger(moment=until), method_name="passed")

    def passed(self, context: Any, event: Any) -> None:
        """The waiting time is over."""

    def _until(self, record: Deployment) -> datetime | None:
        """The end of the hold after the step's test; None if a later step was reached."""
        if record.share > self.share:
            return None
        tested = next(s for s in record.steps if s["step"] == f"smoke_{self.share}")
        return datetime.fromisoformat(tested["at"]) + self.hold
