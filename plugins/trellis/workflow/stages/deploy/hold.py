"""hold: time at a step, without a worker, in which people and alerts can find fault."""

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import BaseOperator

from research.stages.deploy.diary import Diary


class HoldOperator(BaseOperator):
    """Wait until a step is `hold` old, deferred. No time passes twice: a share that was raised
    beyond the step's already has waited.

    :param diary: of the run's deployment.
    :param share: the step's share, in percent.
    """

    def __init__(self, *, diary: Diary, share: int, hold: timedelta, **kwargs: Any):
        super().__init__(**kwargs)
        self.diary = diary
        self.share = share
        self.hold = hold

    def execute(self, context: Any) -> None:
        until = self._until(self.diary.record(context).read())
        if until is None or until <= datetime.now(UTC):
            self.log.info("Nothing to wait for")
            return
        self.log.info("Waiting until %s", until.isoformat(timespec="seconds"))
        self.defer(trigger=DateTimeTrigger(moment=until), method_name="passed")

    def passed(self, context: Any, event: Any) -> None:
        """The time is over."""

    def _until(self, content: dict[str, Any]) -> datetime | None:
        """When the step, tested, is `hold` old; None if a later step was reached."""
        if content["share"] > self.share:
            return None
        tested = next(s for s in content["steps"] if s["step"] == f"smoke_{self.share}")
        return datetime.fromisoformat(tested["at"]) + self.hold
