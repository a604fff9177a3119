"""What an experiment's label is: a column, or the time and the event of a time to an event."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator
from pydantic_core import PydanticCustomError

from trellis.workflow.spec.quantities import Form

MOST_HORIZONS = 20


@dataclass(frozen=True)
class TimeToEvent:
    """A label of two columns: the time, and whether the event happened then. horizons: rising times
    at which survival is predicted; (): the export chooses them.
    """

    time: str
    event: str
    horizons: tuple[int | float, ...] = ()

    @property
    def columns(self) -> dict[str, str]:
        """By their roles, the first of which is `label`."""
        return {"label": self.time, "event": self.event}


def _label(value: Any) -> str | TimeToEvent:
    if isinstance(value, TimeToEvent) or (isinstance(value, str) and value):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("no column")
    if unknown := [str(name) for name in value if name not in ("time", "event", "horizons")]:
        raise _label_error(f"unknown key '{unknown[0]}'")
    time: Any = value.get("time")
    event: Any = value.get("event")
    for name, column in (("time", time), ("event", event)):
        if not isinstance(column, str) or not column:
            raise _label_error(f"`{name}` names no column")
    horizons = value.get("horizons") or ()
    known = isinstance(horizons, list | tuple) and all(
        isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one)
        for one in horizons
    )
    if not known or any(low >= high for low, high in itertools.pairwise((0, *horizons))):
        raise _label_error(f"got {horizons!r} as `horizons`, which rise from above 0")
    if len(horizons) > MOST_HORIZONS:
        raise _label_error(f"got {len(horizons)} `horizons`, at most {MOST_HORIZONS} can be")
    return TimeToEvent(time, event, tuple(horizons))


def _label_error(problem: str) -> PydanticCustomError:
    return PydanticCustomError(
        "rule", "{message}", {"message": f"{problem}; expected {_LABEL_FORMS}"}
    )


def _label_text(label: str | TimeToEvent) -> str | dict[str, Any]:
    if isinstance(label, str):
        return label
    horizons = {"horizons": list(label.horizons)} if label.horizons else {}
    return {"time": label.time, "event": label.event, **horizons}


_LABEL_FORMS = (
    "a column, or of a time_to_event two, as in {time: days, event: died}, with the times at which "
    "survival is predicted as `horizons`, as in [365, 1825]"
)

Label = Annotated[
    Any,
    PlainValidator(_label),
    PlainSerializer(_label_text),
    Form(
        _LABEL_FORMS,
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {
                    "type": "object",
                    "required": ["time", "event"],
                    "additionalProperties": False,
                    "properties": {
                        "time": {"type": "string", "minLength": 1},
                        "event": {"type": "string", "minLength": 1},
                        "horizons": {
                            "type": "array",
                            "items": {"type": "number", "exclusiveMinimum": 0},
                            "minItems": 1,
                            "maxItems": MOST_HORIZONS,
                        },
                    },
                },
            ]
        },
    ),
]
"""The column to predict, or the two of a time to an event."""
