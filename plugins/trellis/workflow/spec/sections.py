"""Sections: the mappings of a file as pydantic models, and what is known of their keys."""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

import annotated_types
from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from trellis.workflow.spec import yaml_scalars
from trellis.workflow.spec.problems import Field as Where
from trellis.workflow.spec.quantities import Form


class Section(BaseModel):
    """A mapping in a file: typed, bounded, immutable, without unknown keys."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_by_name=False
    )


class Variant(Section):
    """A section that takes one of several forms, distinguished by the keys that are present.

    opening: the keys that select this form; no other form has them, and all of them are required.
    One form may have none: it is the one where no other's keys are there.
    title: what the form is about, in the plural: "images".
    """

    opening: ClassVar[tuple[str, ...]]
    title: ClassVar[str]


@dataclass(frozen=True)
class OneOf:
    """Annotates a union of Variants: the present keys select one of them.

    text: the forms as a person writes them. missing: what is wrong if none of them is there.
    several: why no two go together, and what to do instead, where that is not plain.
    """

    text: str
    missing: str
    several: str = ""

    def __get_pydantic_core_schema__(
        self, annotation: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        variants = variants_of(annotation)
        return core_schema.tagged_union_schema(
            {tag(variant): handler.generate_schema(variant) for variant in variants},
            discriminator=lambda value: _selected(variants, value),
        )


def tag(variant: type[Variant]) -> str:
    """The name under which pydantic keeps a variant, and puts it into the place of an error."""
    return variant.opening[0] if variant.opening else variant.title


def _selected(variants: tuple[type[Variant], ...], value: Any) -> str | None:
    """The tag of the only variant that has opening keys in `value`, if all of them are there."""
    if isinstance(value, Variant):  # pydantic also asks when it serializes
        return tag(type(value))
    if not isinstance(value, Mapping):
        return None
    touched = [v for v in variants if any(name in value for name in v.opening)]
    touched = touched or [v for v in variants if not v.opening]
    if len(touched) == 1 and all(name in value for name in touched[0].opening):
        return tag(touched[0])
    return None


def broken(message: str) -> PydanticCustomError:
    """Build the error that a validator of a section raises when keys of that section do not go
    together.
    """
    return PydanticCustomError("rule", "{message}", {"message": message})


def key(meaning: str, default: Any = ..., *, unit: str = "", **bounds: Any) -> Any:
    """A field of a section: what it means, its unit, its default (none: required), its bounds."""
    extra: dict[str, Any] = {"unit": unit} if unit else {}
    return Field(default, description=meaning, json_schema_extra=extra, **bounds)


def fields(section: type[Section]) -> Iterator[tuple[str, FieldInfo]]:
    """The keys of a section as they are written, with what is known of them."""
    for name, info in section.model_fields.items():
        if info.exclude is not True:
            yield info.alias or name, info


@functools.cache
def field_of(section: type[Section], where: Where) -> FieldInfo | None:
    """Return the field at `where` below `section`, in whichever variant has it."""
    info: FieldInfo | None = None
    kinds: tuple[type[Section], ...] = (section,)
    for part in where:
        found_ = [dict(fields(kind)).get(str(part)) for kind in kinds]
        info = next((each for each in found_ if each is not None), None)
        if info is None:
            return None
        kinds = sections_of(info.annotation)
    return info


def sections_of(annotation: Any) -> tuple[type[Section], ...]:
    """The sections that a field may hold, itself or as the values of a mapping; () if none."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return (annotation,)
    return tuple(kind for inner in get_args(annotation) for kind in sections_of(inner))


def variants_of(annotation: Any) -> tuple[type[Variant], ...]:
    """Return the variants of a field that may hold more than one; () where there is no choice."""
    return tuple(kind for kind in sections_of(annotation) if issubclass(kind, Variant))


def one_of(info: FieldInfo) -> OneOf | None:
    """Return how a field, or each value of its mapping, selects between variants; None without a
    choice.
    """
    rules = (*_rules(info.annotation, info.metadata), *_rules(_inner(info.annotation)))
    return next((rule for rule in rules if isinstance(rule, OneOf)), None)


def is_mapping(info: FieldInfo) -> bool:
    """Return whether the author of the file chooses the keys below this field."""
    return get_origin(_without_none(info.annotation)) is dict


def bounds(info: FieldInfo) -> tuple[Any, Any]:
    """The least and the greatest value that the field takes; None where there is no bound."""
    return _bounds(info.metadata)


def expected(info: FieldInfo) -> str:
    """`a whole number from 1 to 1000, in epochs`; `one of png, jpeg`; `text`."""
    text = _expected(info.annotation, info.metadata)
    unit = info.json_schema_extra.get("unit") if isinstance(info.json_schema_extra, dict) else None
    return f"{text}, in {unit}" if unit else text


def expected_inside(info: FieldInfo) -> str:
    """Describe the expected values of a mapping, or the items of a list."""
    return _expected(_inner(info.annotation))


def _expected(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    rules = _rules(annotation, metadata)
    for rule in rules:
        if isinstance(rule, Form | OneOf):
            return rule.text
    kind = _plain(annotation)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(kind))
    text = _KINDS.get(get_origin(kind) or kind, "a section of keys")
    for rule in rules:
        if isinstance(rule, annotated_types.MinLen):
            text += ", not empty"
        elif isinstance(rule, annotated_types.MaxLen):
            what = "values" if get_origin(kind) is list else "characters"
            text = text.removesuffix(" of values") + f", up to {rule.max_length} {what}"
        elif pattern := getattr(rule, "pattern", None):
            text += f" that matches {pattern}"
    low, high = _bounds(rules)
    if low is not None and high is not None:
        text += f" from {low} to {high}"
    elif low is not None:
        text += f" of at least {low}"
    return text


def _bounds(rules: Iterable[Any]) -> tuple[Any, Any]:
    rules = list(rules)
    low = next((rule.ge for rule in rules if isinstance(rule, annotated_types.Ge)), None)
    high = next((rule.le for rule in rules if isinstance(rule, annotated_types.Le)), None)
    return low, high


def found(value: Any) -> str:
    """`got 'x'; `: the value that is wrong; nothing of a whole section."""
    if isinstance(value, Mapping):
        return ""
    if value is None:
        return "got nothing; "
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return f"got {text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}; "


def unexpected(value: Any, wanted: str) -> str:
    """`got '4'; expected a whole number; leave the quotes out`: what is wrong with a value."""
    return f"{found(value)}expected {wanted}{_written_right(value, wanted)}"


_NUMBERS = ("a number", "a whole number")
_COMMA_OR_PERCENT = re.compile(r"([-+]?\d+)(?:,(\d+))? *(%?)")


def _written_right(value: Any, wanted: str) -> str:
    """A hint, where the value is of the kind that is wanted but for how it is written."""
    if wanted.startswith("text") and isinstance(value, bool | int | float):
        return "; it is text in quotes"
    if not isinstance(value, str) or not wanted.startswith((*_NUMBERS, "true or false")):
        return ""
    try:
        plain = yaml_scalars.value(value)
    except yaml_scalars.ScalarError:
        return ""
    if isinstance(plain, bool | int | float):
        return "; leave the quotes out"
    if wanted.startswith(_NUMBERS) and (read := _COMMA_OR_PERCENT.fullmatch(value)):
        number = float(f"{read[1]}.{read[2] or 0}") / (100 if read[3] else 1)
        return f"; write {number:.12g}"
    return ""


# Characters of a wrong value.
_SHOWN = 200

_KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    list: "a list of values",
    dict: "values by name",
}


def _rules(annotation: Any, metadata: Iterable[Any] = ()) -> list[Any]:
    """Return the annotations of a type, without those of None."""
    return [*metadata, *getattr(_without_none(annotation), "__metadata__", ())]


def _plain(annotation: Any) -> Any:
    """`Annotated[float, ...] | None` -> float."""
    kind = _without_none(annotation)
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _inner(annotation: Any) -> Any:
    """`dict[str, float]`, `list[float]` -> float."""
    return next(reversed(get_args(_plain(annotation))), Any)


def _without_none(annotation: Any) -> Any:
    """`float | int | None` -> float: the first of the kinds that a field may have."""
    kinds = get_args(annotation)
    return next(k for k in kinds if k is not NoneType) if NoneType in kinds else annotation
