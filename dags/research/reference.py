"""Every key of an experiment file, printed from the classes that check it."""

import textwrap
import typing
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pydantic.fields import FieldInfo

from research.experiment import Experiment
from research.quantities import duration_text
from research.sections import Section, expected, fields, section_of
from research.trainer_schema import TrainerSchema, flag

_WIDTH = 62


def lines(schema: TrainerSchema) -> Iterator[str]:
    """The reference, line by line. What the trainer offers comes from its schema."""
    yield "Keys of an experiment file, dags/experiments/NAME.yaml. A star marks what must be there."
    yield ""
    yield from _keys(Experiment, "")
    yield ""
    yield "Models, with the hyperparameters that each has"
    for name, model in schema.models.items():
        yield from _entry(name, model["description"], ", ".join(model["hyperparameters"]))
    yield ""
    yield "Hyperparameters, to fix in `hyperparameters` or to vary in `tune.search`"
    for name, parameter in schema.hyperparameters.items():
        default = flag(parameter.schema["default"])
        rule = f"{parameter.expected}; default {default}"
        only = f"{parameter.only}; " if parameter.only else ""
        yield from _entry(name, parameter.schema["description"], f"{only}{rule}")
    yield ""
    yield "Tasks, with the metrics that each has"
    for name, task in schema.tasks.items():
        yield from _entry(name, ", ".join(task["metrics"]))


def _keys(section: type[Section], prefix: str) -> Iterator[str]:
    for name, info in fields(section):
        key = f"{prefix}{name}"
        inner = section_of(info.annotation)
        title = f"{key}{'*' if info.is_required() else ''}"
        if inner is None:
            yield from _entry(title, info.description or "", _rule(info))
        else:
            yield from _entry(title, info.description or "")
            free = typing.get_origin(info.annotation) is dict
            yield from _keys(inner, f"{key}.HYPERPARAMETER." if free else f"{key}.")


def _rule(info: FieldInfo) -> str:
    if info.is_required() or info.default is None:
        return expected(info)
    return f"{expected(info)}; default {_default(info.default)}"


def _default(value: Any) -> str:
    if isinstance(value, timedelta):
        return duration_text(value)
    if isinstance(value, tuple):
        return str(list(value))
    return "none" if value == {} else flag(value)


def _entry(title: str, meaning: str, rule: str = "") -> Iterator[str]:
    wrapped = [line for text in (meaning, rule) for line in textwrap.wrap(text, _WIDTH)]
    for n, line in enumerate(wrapped):
        yield f"  {title if n == 0 else '':<35} {line}"
