"""When a DAG runs, as an experiment file says it."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from croniter import croniter
from pydantic import PlainValidator

from trellis.workflow.spec.quantities import Form

MANUAL = "manual"
"""No schedule: a person, or another program, starts each run."""

NEW_DATA = "new data"
"""Whenever the experiment's own table, query's tables or manifest has changed."""

# Airflow's names for schedules that a cron expression could say too.
PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")

_AFTER = re.compile(r"new (?P<what>dataset|champion) of (?P<experiment>[a-z][a-z0-9-]*)")


@dataclass(frozen=True)
class After:
    """A schedule by what another experiment makes. what: "dataset" or "champion"."""

    what: str
    experiment: str


def after(schedule: str) -> After | None:
    """What `new dataset of NAME` or `new champion of NAME` waits for; None for other schedules."""
    found = _AFTER.fullmatch(schedule)
    return After(**found.groupdict()) if found else None


def by_time(schedule: str) -> bool:
    """Whether it is a preset or a cron expression."""
    return schedule not in (MANUAL, NEW_DATA) and after(schedule) is None


def _schedule(value: Any) -> str:
    if value in (MANUAL, *PRESETS) or (isinstance(value, str) and croniter.is_valid(value)):
        return value
    raise ValueError("no schedule")


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
