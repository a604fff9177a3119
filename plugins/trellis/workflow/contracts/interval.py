"""The rows of a run: its data interval, in terms of the partition column.

Half-open, [start, end), in UTC. A DATE counts as its midnight, so an interval of a day selects that
day, one of a week seven days, and one of an hour the day that begins in it, if any.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.table import Column

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Partition:
    """Rows whose `column` is in [start, end)."""

    column: str
    type: str
    start: datetime
    end: datetime

    @property
    def start_literal(self) -> str:
        """SQL of the interval's inclusive start."""
        return self._literal(self.start)

    @property
    def end_literal(self) -> str:
        """SQL of the interval's exclusive end."""
        return self._literal(self.end)

    def to_json(self) -> dict[str, str]:
        """The interval for people: `to` is exclusive."""
        first, last = self._text(self.start), self._text(self.end)
        return {"column": self.column, "from": first, "to": last}

    def __str__(self) -> str:
        content = self.to_json()
        return f"{self.column} from {content['from']} to {content['to']} (exclusive)"

    def covers(self, partition_id: str) -> bool:
        """Return whether rows of a table's partition of this id may be in the interval.

        Ids are 2024, 202401, 20240131 or 2024013123, by the partitions' granularity.
        """
        if not partition_id.isdigit():
            return True
        first, last = self.start, self.end - timedelta(microseconds=1)
        digits = [re.sub(r"\D", "", moment.isoformat()) for moment in (first, last)]
        return digits[0][: len(partition_id)] <= partition_id <= digits[1][: len(partition_id)]

    def _literal(self, moment: datetime) -> str:
        return f"{self.type} '{self._text(moment)}'"

    def _text(self, moment: datetime) -> str:
        if self.type == "DATE":
            return moment.date().isoformat()
        text = moment.replace(tzinfo=None).isoformat(sep=" ")
        return f"{text}+00:00" if self.type == "TIMESTAMP" else text


def of_run(
    column: Column | None,
    interval: tuple[Any, Any],
    days: tuple[Any, Any],
    where: str = "source.partition",
) -> Partition | None:
    """The interval of a run's rows; None for all rows.

    interval: the run's data interval, (None, None) for a run without. days: dates that the person
    who started the run gave instead, ISO 8601, the last one exclusive; each may be None. where: the
    key of the file that names the column.
    """
    first, last = (_midnight(day) for day in days)
    if column is None:
        if first or last:
            raise SourceError(
                "`from` and `to` select rows by a partition column, and the experiment names none "
                f"({where})"
            )
        return None
    start, end = interval
    if first and last and first >= last:
        raise SourceError(f"`from` {days[0]} is not before `to` {days[1]}, which is exclusive")
    if first or last:
        start = first or datetime(1, 1, 1, tzinfo=UTC)
        end = last or datetime(9999, 12, 31, tzinfo=UTC)
    if start is None or end is None:
        return None
    if column.type == "DATE":
        start, end = _next_midnight(start), _next_midnight(end)
    if start >= end:
        raise SourceError(
            f"The run's interval, {interval[0]} to {interval[1]}, selects nothing of the "
            f"{column.type} column '{column.name}', as it does not cover "
            f"{'a day' if column.type == 'DATE' else 'a moment'}: give `from` and `to`, or leave "
            "the logical date empty to take all rows"
        )
    return Partition(column.name, column.type, start.astimezone(UTC), end.astimezone(UTC))


def _midnight(day: str | None) -> datetime | None:
    if not day:
        return None
    parsed = date.fromisoformat(str(day))
    return datetime(parsed.year, parsed.month, parsed.day, tzinfo=UTC)


def _next_midnight(moment: datetime) -> datetime:
    utc = moment.astimezone(UTC)
    midnight = utc.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight if midnight == utc else midnight + _DAY
