"""The number of a dataset's files."""

from typing import Annotated, Any

from pydantic import PlainValidator

from trellis.workflow.spec.quantities import Form

AUTO = "auto"

LEAST = 8
"""Files of the train split with `shards: auto`, however few its bytes: TensorFlow reads several at
once, and up to as many workers each have their own.
"""

_MOST = 10_000


def _shards(value: Any) -> int | str:
    if value == AUTO:
        return AUTO
    if type(value) is int and 1 <= value <= _MOST:
        return value
    raise ValueError("no such number")


Shards = Annotated[
    int | str,
    PlainValidator(_shards),
    Form(
        f"{AUTO}, or a whole number from 1 to {_MOST}",
        {"anyOf": [{"const": AUTO}, {"type": "integer", "minimum": 1, "maximum": _MOST}]},
    ),
]
"""Files of the train split; `auto`: by their bytes."""
