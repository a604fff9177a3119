"""All hyperparameters: type, bounds, default, unit and meaning, and what may be asked of them.

A field of Hyperparameters is a flag of `python -m trainer.task`, a key of an experiment's `search`
and a column of the leaderboard. Its metadata are JSON Schema keywords, so that the same lines check
the trainer's command line and an experiment file. Our own
keywords: "expected" is the bounds in words; "inputs" and "tasks" list the kinds of dataset and the
tasks with which a hyperparameter has an effect (absent: all); "idle_with" lists, by the name of
another hyperparameter, the words of it with which this one has none; "of_tasks" has the tasks of
words that are not for all of these; "by_class" has the bounds of
the numbers of a JSON object with one for each of some classes, which a text may be beside its
"enum"; "least_side" is that of an image, in pixels, for each value; "max_pooling" and
"batch_normalization" list the words with which a model has layers of these kinds.

Common has those of every Keras model (common_hyperparameters.py), Hyperparameters also those of the
models in this package (model_hyperparameters.py); `own` makes a class for a model's own file,
which declares its own in the same form (model_file.py). A file with `fit` has none but these.
"""

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from trellis_contracts.common_hyperparameters import OfEveryModel
from trellis_contracts.hyperparameter_field import Value
from trellis_contracts.hyperparameter_schema import expected as in_words
from trellis_contracts.hyperparameter_schema import fits
from trellis_contracts.model_file import Declaration
from trellis_contracts.model_hyperparameters import OfModels


class HyperparameterError(ValueError):
    """A value that the trainer does not take; the message says what it would take."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Hyperparameters of a model. Raises HyperparameterError for values out of bounds."""

    def __post_init__(self) -> None:
        for name in _fields(type(self)):
            _check(name, type(self), getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Common(OfEveryModel, Table):
    """Hyperparameters of every Keras model."""


@dataclass(frozen=True, kw_only=True)
class Hyperparameters(OfModels, Common):
    """All hyperparameters, with those of the models in this package. The defaults train a small
    classifier of images or of rows well.
    """


def own(declaration: Declaration) -> type[Table]:
    """The class for a model's own file: the common ones, and those that the file declares."""
    fields: list[tuple[str, type, Any]] = []
    base = Table if declaration.estimator else Common
    for name in declaration.without:
        common = _fields(Common)[name]
        metadata = {**common.metadata, "models": ("",)}
        fields.append(
            (name, _kind(name, Common), _field(common.default, metadata)),
        )
    for name, words in declaration.hyperparameters.items():
        schema = {word: value for word, value in words.items() if word not in ("type", "expected")}
        metadata = {"schema": schema, "models": (), "without": ()}
        fields.append((name, _PYTHON[words["type"]], _field(words["default"], metadata)))
    return dataclasses.make_dataclass(
        "OwnHyperparameters", fields, bases=(base,), frozen=True, kw_only=True
    )


_TYPES = {float: "number", int: "integer", bool: "boolean", str: "string"}
_PYTHON = {name: kind for kind, name in _TYPES.items()}


def schema(table: type[Table] = Hyperparameters) -> dict[str, dict[str, Any]]:
    """JSON Schema of every hyperparameter, by name."""
    return {
        name: {
            "type": _TYPES[_kind(name, table)],
            "expected": expected(name, table),
            **field.metadata["schema"],
        }
        for name, field in _fields(table).items()
    }


def of_model(model: str, table: type[Table] = Hyperparameters) -> list[str]:
    """Names of the hyperparameters that a model reads."""
    return [
        name
        for name, field in _fields(table).items()
        if model in field.metadata["models"]
        or (not field.metadata["models"] and model not in field.metadata["without"])
    ]


def of_training(h: Table, model: str, inputs: Collection[str], task: str) -> dict[str, Value]:
    """The values that a training reads. inputs: what the examples hold, "image", "table" or
    both.
    """
    table = type(h)
    return {
        name: getattr(h, name)
        for name in of_model(model, table)
        if reads(name, inputs, task, table)
    }


def without_effect(h: Table, inputs: Collection[str], task: str) -> list[str]:
    """Names of those that differ from their default for nothing, in such a training."""
    return [
        name
        for name, field in _fields(type(h)).items()
        if not reads(name, inputs, task, type(h)) and getattr(h, name) != field.default
    ]


def unfit(h: Table, task: str) -> list[str]:
    """Values that are for other tasks alone, as NAME=VALUE."""
    found = []
    for name, field in _fields(type(h)).items():
        value = getattr(h, name)
        tasks = field.metadata["schema"].get("of_tasks", {}).get(value, [task])
        if task not in tasks:
            found.append(f"{name}={value}")
    return found


def reads(
    name: str,
    inputs: Collection[str],
    task: str,
    table: type[Table] = Hyperparameters,
) -> bool:
    """Return whether a hyperparameter has an effect on this task, with these inputs."""
    words = _words(name, table)
    given = {"inputs": inputs, "tasks": [task]}
    return all(not {*values}.isdisjoint(words.get(word, values)) for word, values in given.items())


def parse(name: str, text: str, table: type[Table] = Hyperparameters) -> Value:
    """The value of a flag. An integer may come as 2.0: Vertex AI's tuner keeps every number as a
    double. Raises HyperparameterError when the text is no value of that hyperparameter.
    """
    kind = _kind(name, table)
    value: Value
    try:
        if kind is bool:
            value = {"true": True, "false": False}[text.lower()]
        elif kind is int:
            value = int(text) if text.lstrip("+-").isdigit() else _integral(float(text))
        else:
            value = kind(text)
    except (KeyError, ValueError, OverflowError):
        raise HyperparameterError(f"{text!r} is not {expected(name, table)}") from None
    _check(name, table, value)
    return value


def expected(name: str, table: type[Table] = Hyperparameters) -> str:
    """Describe the values that a hyperparameter takes."""
    return in_words({**_words(name, table), "type": _TYPES[_kind(name, table)]})


def _field(default: Any, metadata: Mapping[str, Any]) -> Any:
    return dataclasses.field(default=default, metadata=metadata)


def _fields(table: type[Table]) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(table)}


def _words(name: str, table: type[Table]) -> Mapping[str, Any]:
    words: Mapping[str, Any] = _fields(table)[name].metadata["schema"]
    return words


def _kind(name: str, table: type[Table]) -> type:
    kind = _fields(table)[name].type
    assert isinstance(kind, type)  # a string where annotations are deferred, which here none is
    return kind


def _integral(number: float) -> int:
    if not number.is_integer():
        raise ValueError(number)
    return int(number)


def _check(name: str, table: type[Table], value: Value) -> None:
    if not fits(_words(name, table), value):
        raise HyperparameterError(f"{value!r} is not {expected(name, table)}")
