"""Values as people write them: `6 USD`, `30 minutes`, `[10, 50, 100]`."""

import itertools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, PlainValidator, StringConstraints


@dataclass(frozen=True)
class Form:
    """Notation of a value: for the reference and for errors, and as JSON Schema for editors."""

    text: str
    schema: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return dict(self.schema)


_LENGTH = {"type": "string", "pattern": "^[0-9]{1,9} (second|minute|hour|day)s?$"}

# Longer than any job or pause; moments that Python cannot count are far beyond it.
_LONGEST = timedelta(days=366)

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


def _usd(value: Any) -> float:
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,2})?) USD", str(value))
    if not match or float(match[1]) <= 0:
        raise ValueError("no such amount")
    return float(match[1])


def usd_text(amount: float) -> str:
    """`6 USD`, `0.50 USD`."""
    return f"{amount:.0f} USD" if amount == int(amount) else f"{amount:.2f} USD"


def rows_text(count: int) -> str:
    """`1 row`, `1,024 rows`."""
    return f"{count:,} row{'s' if count > 1 else ''}"


def _pause(value: Any) -> timedelta:
    match = re.fullmatch(r"([0-9]{1,9}) (second|minute|hour|day)s?", str(value))
    if not match:
        raise ValueError("no length of time")
    pause = timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
    if pause > _LONGEST:
        raise ValueError("too long")
    return pause


def _duration(value: Any) -> timedelta:
    if not (duration := _pause(value)):
        raise ValueError("no such length of time")
    return duration


def duration_text(duration: timedelta) -> str:
    """`30 minutes`, `2 hours`, `0 minutes`: the largest unit that leaves a whole number."""
    seconds = int(duration.total_seconds())
    if not seconds:
        return "0 minutes"
    unit = max((u for u in _SECONDS if seconds % _SECONDS[u] == 0), key=_SECONDS.__getitem__)
    count = seconds // _SECONDS[unit]
    return f"{count} {unit}{'s' if count > 1 else ''}"


def _percents(value: Any) -> tuple[int, ...]:
    steps = value if isinstance(value, list | tuple) else []
    whole = all(isinstance(step, int) and not isinstance(step, bool) for step in steps)
    if not steps or not whole or steps[0] < 1 or steps[-1] != 100:
        raise ValueError("no such steps")
    if any(before >= after for before, after in itertools.pairwise(steps)):
        raise ValueError("no rising steps")
    return tuple(steps)


def _replicas(value: Any) -> tuple[int, int]:
    ends = value if isinstance(value, list | tuple) else []
    whole = all(isinstance(end, int) and not isinstance(end, bool) for end in ends)
    if len(ends) != 2 or not whole or not 1 <= ends[0] <= ends[1] <= 100:
        raise ValueError("no such numbers")
    return ends[0], ends[1]


def _steps(value: Any) -> tuple[int, int]:
    ends = value
    if isinstance(value, str):
        ends = [int(end) for end in value.split("-") if end.isdecimal()]
    whole = isinstance(ends, list | tuple) and all(type(end) is int for end in ends)
    if not whole or len(ends) != 2 or not 1 <= ends[0] <= ends[1]:
        raise ValueError("no such steps")
    return ends[0], ends[1]


def _date(value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    # Python's reader takes weeks and days without dashes, too.
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise ValueError("no date")
    return date.fromisoformat(value)


def number(value: Any) -> int | float:
    """The value, if it is a number that a float holds. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("no number")
    try:
        finite = math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        finite = False
    if not finite:
        raise ValueError("no finite number")
    return value


def _class_name(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


def _scalar(value: Any) -> bool | int | float | str:
    return value if isinstance(value, bool | str) else number(value)


def _flag_value(value: Any) -> bool | int | float | str:
    if not isinstance(value, Mapping):
        return _scalar(value)
    # The form of the trainer's flag.
    return json.dumps({str(name): number(weight) for name, weight in value.items()})


# BigQuery's names: https://cloud.google.com/bigquery/docs/tables#table_naming
_TABLE = re.compile(r"([a-z][a-z0-9-]*[a-z0-9]\.)?\w{1,1024}\.[^.`*$]{1,1024}")
# A path has neither another scheme (s3://, https://, C:\\), nor spaces around it.
_PATH = r"(?![A-Za-z][A-Za-z0-9+.-]*:)[^/\s](.*[^\s])?"
_FOLDER = re.compile(rf"gs://[a-z0-9][a-z0-9._-]+(/(.*[^\s])?)?|{_PATH}")
_OBJECT = re.compile(rf"gs://[a-z0-9][a-z0-9._-]*/[^/\s](.*[^\s])?|{_PATH}")


def _matches(form: re.Pattern[str]) -> PlainValidator:
    def validate(value: Any) -> str:
        if not isinstance(value, str) or not form.fullmatch(value):
            raise ValueError("another form")
        return value

    return PlainValidator(validate)


def pair(most: int) -> dict[str, Any]:
    """JSON Schema of two whole numbers from 1 to `most`."""
    item = {"type": "integer", "minimum": 1, "maximum": most}
    return {"type": "array", "items": item, "minItems": 2, "maxItems": 2}


TableName = Annotated[
    str,
    _matches(_TABLE),
    Form("DATASET.TABLE or PROJECT.DATASET.TABLE", {"type": "string", "pattern": r"^.+\..+$"}),
]
"""A table or view of BigQuery."""

Folder = Annotated[
    str,
    _matches(_FOLDER),
    Form("a path in the group's bucket, or gs://BUCKET/FOLDER", {"type": "string"}),
]
"""A folder in Cloud Storage."""

Object = Annotated[
    str,
    _matches(_OBJECT),
    Form("a path in the group's bucket, or gs://BUCKET/OBJECT", {"type": "string"}),
]
"""An object in Cloud Storage."""

Number = Annotated[Any, PlainValidator(number), Form("a number", {"type": "number"})]
"""An int stays an int, a float a float: an integer hyperparameter's bounds are integers."""

Scalar = Annotated[
    Any,
    PlainValidator(_scalar),
    Form("a number, a text, true or false", {"type": ["number", "string", "boolean"]}),
]
"""A value of a hyperparameter, of whatever type it has."""

ClassName = Annotated[
    str,
    BeforeValidator(_class_name),
    StringConstraints(min_length=1),
    Form("the name of a class", {"type": ["string", "integer", "boolean"]}),
]
"""A class as the label spells it: `1` and `true` of an INT64 or BOOL column are names, too."""

FlagValue = Annotated[
    Any,
    PlainValidator(_flag_value),
    Form(
        "a number, a text, true or false; numbers by class where classes have weights",
        {"type": ["number", "string", "boolean", "object"]},
    ),
]
"""A fixed hyperparameter; numbers by class become the JSON text that the trainer takes."""

USD = Annotated[
    float,
    BeforeValidator(_usd),
    PlainSerializer(usd_text),
    Form(
        "an amount above 0 in US dollars, as in '6 USD' or '0.50 USD'",
        {"type": "string", "pattern": r"^[0-9]+(\.[0-9]{1,2})? USD$"},
    ),
]
"""US dollars, above 0; written `6 USD`."""

Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    PlainSerializer(duration_text),
    Form("a whole number and a unit, as in '30 minutes' or '2 hours', up to 366 days", _LENGTH),
]
"""A positive length of time; written `30 minutes`."""

Bounds = Annotated[
    dict[str, Number],
    Form(
        "numbers by name, as in {accuracy: 0.9}",
        {"type": "object", "additionalProperties": {"type": "number"}},
    ),
]
"""Bounds of metrics, by their names."""

Pause = Annotated[
    timedelta,
    BeforeValidator(_pause),
    PlainSerializer(duration_text),
    Form("a whole number and a unit, as in '30 minutes' or '0 minutes'", _LENGTH),
]
"""A length of time that may be none; written `0 minutes`."""

Percents = Annotated[
    tuple[int, ...],
    BeforeValidator(_percents),
    PlainSerializer(list),
    Form(
        "rising whole numbers from 1 on, in percent, the last one 100, as in [10, 50, 100]",
        {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 100}},
    ),
]
"""Shares of something that grows to all of it; written `[10, 50, 100]`."""

Replicas = Annotated[
    tuple[int, int],
    BeforeValidator(_replicas),
    PlainSerializer(list),
    Form("[fewest, most], whole numbers with 1 <= fewest <= most <= 100", pair(100)),
]
"""(fewest, most); written `[1, 3]`."""

Steps = Annotated[
    tuple[int, int],
    BeforeValidator(_steps),
    PlainSerializer(list),
    Form("[first, last], steps of a training, from 1", pair(10**9)),
]
"""(first, last); written `[10, 20]`, in a run's parameters `10-20`."""

Date = Annotated[
    date,
    PlainValidator(_date),
    PlainSerializer(date.isoformat),
    Form("a day, as in 2024-01-31", {"type": "string", "format": "date"}),
]
"""A day; written `2024-01-31`, with or without quotes."""
