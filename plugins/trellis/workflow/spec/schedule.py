"""Schedules of DAGs in experiment files."""

import itertools
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from croniter import CroniterBadDateError, croniter
from pydantic import PlainValidator

from trellis.workflow.spec.quantities import Form
from trellis.workflow.spec.sections import broken

MANUAL = "manual"
"""No schedule: a person, or another program, starts each run."""

NEW_DATA = "new data"
"""Whenever the experiment's own table, query's tables or manifest has changed."""

# Airflow's names for schedules that a cron expression could say too.
PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")

# croniter does not know it.
_CRON = {"@quarterly": "0 0 1 */3 *"}

_AFTER = re.compile(r"new (?P<what>dataset|champion) of (?P<experiment>[a-z][a-z0-9-]*)")


# A column of Airflow's database has room for no longer description.
_LONGEST = 100

_ITEM = re.compile(
    r"(?P<first>\*|[0-9]{1,2}|[A-Za-z]{3})(-(?P<last>[0-9]{1,2}|[A-Za-z]{3}))?(/(?P<step>[0-9]{1,2}))?"
)


@dataclass(frozen=True)
class _Field:
    """One of the five parts of a cron expression. names: of its values, from `low` on."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def wrong(self, item: str) -> str | None:
        """Return why this part has no such item; None if it has."""
        allowed = f"{self.low} to {self.high}"
        if self.names:
            allowed += f" or {self.names[0].upper()} to {self.names[-1].upper()}"
        found = _ITEM.fullmatch(item)
        if found is None:
            return f"expected *, {allowed}, a range of them (1-5), or steps (*/2)"
        first, last, step = found["first"], found["last"], found["step"]
        if first == "*":
            low: int | None = self.low
            high: int | None = self.high if last is None else None
        else:
            low = self._number(first)
            high = low if last is None else self._number(last)
        if low is None or high is None:
            return f"{item} is none of {allowed}"
        if low > high:
            return f"{item} goes backwards"
        if step is not None:
            if first != "*" and last is None:
                return f"{item} has steps of one value: write {first}-{self.high}/{step}"
            if not 1 <= int(step) <= high - low:
                return f"{item} never takes a step: there are {high - low + 1} values"
        return None

    def _number(self, text: str) -> int | None:
        if text.lower() in self.names:
            return self.low + self.names.index(text.lower())
        number = int(text) if text.isdigit() else -1
        return number if self.low <= number <= self.high else None


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 7, _DAYS),
)


@dataclass(frozen=True)
class After:
    """A schedule by what another experiment makes. what: "dataset" or "champion"."""

    what: str
    experiment: str


def after(schedule: str) -> After | None:
    """Return the asset that `new dataset of NAME` or `new champion of NAME` waits for; None for
    other schedules.
    """
    found = _AFTER.fullmatch(schedule)
    return After(**found.groupdict()) if found else None


def by_time(schedule: str) -> bool:
    """Return whether the schedule is a preset or a cron expression."""
    return schedule not in (MANUAL, NEW_DATA) and after(schedule) is None


def shortest_interval(schedule: str) -> timedelta:
    """Return the shortest time between two runs of a schedule by time, of its next 400 runs."""
    moments = croniter(_CRON.get(schedule, schedule), datetime(2025, 1, 1))
    runs = [moments.get_next(datetime) for _ in range(400)]
    return min(after - before for before, after in itertools.pairwise(runs))


def _schedule(value: Any) -> str:
    if isinstance(value, str):
        if value in (MANUAL, *PRESETS):
            return value
        _check_cron(value)
        return value
    raise ValueError("no schedule")


def _check_cron(text: str) -> None:
    """Raises an error for what is no cron expression as Vixie's cron has it, or never comes.

    croniter also takes seconds, years, last days, random numbers and ranges that go backwards.
    Airflow's own descriptions, and people, read some of those differently, or not at all.
    """
    parts = re.split(" +", text)
    if not re.search(r"[0-9*?]", text) or len(parts) == 1:
        raise ValueError("no schedule")
    if len(parts) != len(_FIELDS):
        raise broken(
            f"got {text[:80]!r}, {len(parts)} words; a cron expression has five, for "
            + ", ".join(field.name for field in _FIELDS)
        )
    for part, field in zip(parts, _FIELDS, strict=True):
        for item in part.split(","):
            if (why := field.wrong(item)) is not None:
                raise broken(f"got {part[:40]!r} as {field.name} of a cron expression: {why}")
    if len(text) > _LONGEST:
        raise broken(f"a cron expression of {len(text)} characters; expected up to {_LONGEST}")
    try:
        croniter(text).get_next()
    except CroniterBadDateError:
        raise broken(f"got {text!r}, a day that no year has") from None


def _or_event(value: Any) -> str:
    if value == NEW_DATA or (isinstance(value, str) and after(value)):
        return value
    return _schedule(value)


_TIMES = f"{', '.join((MANUAL, *PRESETS))}, or cron as in '0 3 * * 1'"
_EVENTS = (NEW_DATA, "new dataset of EXPERIMENT", "new champion of EXPERIMENT")

Schedule = Annotated[
    str,
    PlainValidator(_schedule),
    Form(_TIMES, {"anyOf": [{"enum": [MANUAL, *PRESETS]}, {"type": "string"}]}),
]
"""`manual`, a preset such as `@daily`, or a cron expression; all in UTC."""

ExperimentSchedule = Annotated[
    str,
    PlainValidator(_or_event),
    Form(
        f"{', '.join(_EVENTS)}, {_TIMES}",
        {"anyOf": [{"enum": [MANUAL, NEW_DATA, *PRESETS]}, {"type": "string"}]},
    ),
]
"""A Schedule, or an event: `new data`, `new dataset of NAME`, `new champion of NAME`."""
