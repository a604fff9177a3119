"""The number of a dataset's files."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PlainValidator

from trellis.workflow.spec.quantities import Form

if TYPE_CHECKING:
    from trellis.workflow.spec.experiment import Experiment

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


def least(experiment: "Experiment") -> int:
    """Files of the train split; with `shards: auto` the fewest that there can be."""
    shards = experiment.source.shards
    if isinstance(shards, int):
        return shards
    return max(LEAST, *(one.train.machines.workers for one in experiment.by_model.values()))


def flag(experiment: "Experiment") -> str:
    """The export's flag `--shards`: `8`, or `8+` for 8 or more by bytes."""
    return f"{least(experiment)}{'+' if experiment.source.shards == AUTO else ''}"
