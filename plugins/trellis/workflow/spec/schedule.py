"""When a DAG runs, as an experiment file says it."""

from typing import Annotated, Any

from croniter import croniter
from pydantic import PlainValidator

from trellis.workflow.spec.quantities import Form

MANUAL = "manual"
"""No schedule: a person, or another program, starts each run."""

# Airflow's names for schedules that a cron expression could say too.
PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")


def _schedule(value: Any) -> str:
    if value in (MANUAL, *PRESETS) or (isinstance(value, str) and croniter.is_valid(value)):
        return value
    raise ValueError("no schedule")


Schedule = Annotated[
    str,
    PlainValidator(_schedule),
    Form(
        f"{', '.join((MANUAL, *PRESETS))}, or cron as in '0 3 * * 1'",
        {"anyOf": [{"enum": [MANUAL, *PRESETS]}, {"type": "string"}]},
    ),
]
"""`manual`, a preset such as `@daily`, or a cron expression; all in UTC."""
