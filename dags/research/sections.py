"""Checked sections: what pydantic finds wrong, in words for the person who wrote the file."""

from collections.abc import Iterator
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

import annotated_types
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from research.problems import Field as Where
from research.problems import Problem, did_you_mean
from research.quantities import Form


class Section(BaseModel):
    """A mapping in a file: typed, bounded, without unknown keys, unchangeable once read."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_by_name=False
    )


def key(meaning: str, default: Any = ..., *, unit: str = "", **bounds: Any) -> Any:
    """A field of a section: what it means, its unit, its default (none: required), its bounds."""
    extra = {"unit": unit} if unit else {}
    return Field(default, description=meaning, json_schema_extra=extra, **bounds)


Model = TypeVar("Model", bound=Section)


def check(model: type[Model], values: Any) -> tuple[Model | None, list[Problem]]:
    """The section that `values` describe, or None and what is wrong with them."""
    try:
        return model.model_validate(values), []
    except ValidationError as error:
        return None, [_problem(model, detail) for detail in error.errors()]


def expected(info: FieldInfo) -> str:
    """`a whole number from 1 to 1000, in epochs`; `one of png, jpeg`; `text`."""
    kind = _without_none(info.annotation)
    for rule in (*info.metadata, *getattr(kind, "__metadata__", ())):
        if isinstance(rule, Form):
            return rule.text
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(kind))
    text = _KINDS.get(get_origin(kind) or kind, "a section of keys")
    for rule in info.metadata:
        if isinstance(rule, annotated_types.MinLen):
            text += ", not empty"
        elif pattern := getattr(rule, "pattern", None):
            text += f" that matches {pattern}"
    low, high = bounds(info)
    if low is not None and high is not None:
        text += f" from {low} to {high}"
    elif low is not None:
        text += f" of at least {low}"
    unit = (info.json_schema_extra or {}).get("unit")  # type: ignore[union-attr]
    return f"{text}, in {unit}" if unit else text


_KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    list: "a list of values",
}


def _without_none(annotation: Any) -> Any:
    """`float | int | None` -> float: the first of the kinds that a field may have."""
    kinds = get_args(annotation)
    return next(k for k in kinds if k is not NoneType) if NoneType in kinds else annotation


def bounds(info: FieldInfo) -> tuple[Any, Any]:
    """The least and the greatest value that the field takes; None where there is no bound."""
    low = next((m.ge for m in info.metadata if isinstance(m, annotated_types.Ge)), None)
    high = next((m.le for m in info.metadata if isinstance(m, annotated_types.Le)), None)
    return low, high


def fields(model: type[Section]) -> Iterator[tuple[str, FieldInfo]]:
    """The keys of a section as they are written, with what is known of them."""
    for name, info in model.model_fields.items():
        if info.exclude is not True:
            yield info.alias or name, info


def field_of(model: type[Section], where: Where) -> FieldInfo | None:
    """What is known of the field at `where` below `model`; None below a free mapping."""
    info: FieldInfo | None = None
    section: type[Section] | None = model
    named = False  # the next part is a key that the file's author chose
    for part in where:
        if named:
            named = False
            continue
        info = dict(fields(section)).get(str(part)) if section else None
        if info is None:
            return None
        section = section_of(info.annotation)
        named = get_origin(info.annotation) is dict
    return info


def section_of(annotation: Any) -> type[Section] | None:
    """The section that a field holds, itself or as the values of a mapping; None if it has none."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    for inner in get_args(annotation):
        if found := section_of(inner):
            return found
    return None


def _problem(model: type[Section], detail: Any) -> Problem:
    where = tuple(detail["loc"])
    if detail["type"] == "extra_forbidden":
        parent = field_of(model, where[:-1])
        section = model if len(where) == 1 else section_of(parent.annotation if parent else None)
        known = [name for name, _ in fields(section)] if section else []
        return Problem(where, f"unknown key; {did_you_mean(str(where[-1]), known)}")
    info = field_of(model, where)
    wanted = f"expected {expected(info)}" if info else f"expected {detail['msg'].lower()}"
    if detail["type"] == "missing":
        meaning = info.description if info else ""
        return Problem(where, f"missing; {wanted}: {meaning}")
    return Problem(where, f"{_found(detail)}{wanted}")


def _found(detail: Any) -> str:
    value = detail["input"]
    if isinstance(value, dict):
        return ""
    return f"got {value!r}; " if value is not None else "got nothing; "
