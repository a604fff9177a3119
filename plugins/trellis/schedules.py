"""A schedule that Airflow does not have; trellis.plugin registers it.

Airflow's own way to end a schedule, a DAG's `end_date`, also blocks manual runs: a run triggered
after that day never ends, as none of its tasks may be scheduled
(airflow.ti_deps.deps.runnable_exec_date_dep).
"""

from typing import Any

from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable
from pendulum import DateTime, parse


class CronUntilTimetable(CronDataIntervalTimetable):
    """Intervals of a cron expression; the last one starts before `until`.

    Scheduled runs and backfills end there. Manual runs are unaffected.
    """

    def __init__(self, cron: str, until: str):
        """until: a date or date and time in ISO 8601, in UTC."""
        super().__init__(cron, timezone="UTC")
        self.until: DateTime = parse(until)  # type: ignore[assignment]

    def serialize(self) -> dict[str, Any]:
        return {"cron": self._expression, "until": self.until.isoformat()}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> "CronUntilTimetable":
        return cls(data["cron"], data["until"])

    @property
    def summary(self) -> str:
        return f"{self._expression} until {self.until.to_date_string()}"

    def next_dagrun_info(
        self,
        *,
        last_automated_data_interval: DataInterval | None,
        restriction: TimeRestriction,
    ) -> DagRunInfo | None:
        info = super().next_dagrun_info(
            last_automated_data_interval=last_automated_data_interval, restriction=restriction
        )
        if info is None or info.data_interval is None or info.data_interval.start >= self.until:
            return None
        return info
