"""Validates values against a section and explains each problem to the author of the file."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from trellis.workflow.spec.problems import Field as Where
from trellis.workflow.spec.problems import Problem, did_you_mean
from trellis.workflow.spec.sections import (
    OneOf,
    Section,
    Variant,
    expected,
    expected_inside,
    fields,
    found,
    is_mapping,
    one_of,
    sections_of,
    tag,
    unexpected,
    variants_of,
)

Model = TypeVar("Model", bound=Section)


def validate_section(section: type[Model], values: Any) -> tuple[Model | None, list[Problem]]:
    """The section that `values` describe, or None and everything that is wrong with them."""
    try:
        return section.model_validate(values), []
    except ValidationError as error:
        return None, [_problem(section, detail) for detail in error.errors()]


@dataclass(frozen=True)
class _Place:
    """The place of an error.

    where: as the author of the file knows it. section: the one that `info` is a field of.
    variants: those that `section` was selected from, () if there was no choice.
    info: of the last key that a section knows; None for an unknown one.
    inside: the error is in one value of the field's mapping or list.
    """

    where: Where
    section: type[Section]
    variants: tuple[type[Variant], ...]
    info: FieldInfo | None
    inside: bool


def _place(section: type[Section], loc: Where) -> _Place:
    """Find the place that pydantic's `loc` points to. Unlike `where`, it holds the tags of selected
    variants.
    """
    place = _Place((), section, (), None, False)
    current: type[Section] | None = section  # the one that the next part is a key of
    variants: tuple[type[Variant], ...] = ()
    chosen = False  # the next part is a key that the author of the file chose
    for part in loc:
        where = (*place.where, part)
        if chosen or (current is None and not variants):
            chosen = False
            place = replace(place, where=where, inside=True)
        elif current is None:
            current = next(variant for variant in variants if tag(variant) == part)
        else:
            info = dict(fields(current)).get(str(part))
            place = _Place(where, current, variants, info, False)
            kinds = sections_of(info.annotation) if info else ()
            variants = variants_of(info.annotation) if info else ()
            current = kinds[0] if kinds and not variants else None
            chosen = info is not None and is_mapping(info)
    return place


def _problem(section: type[Section], detail: Any) -> Problem:
    place = _place(section, tuple(detail["loc"]))
    if detail["type"] == "union_tag_not_found" and place.info and (rule := one_of(place.info)):
        return _not_selected(place, rule, variants_of(place.info.annotation), detail["input"])
    return Problem(place.where, _message(place, detail["type"], detail))


def _not_selected(
    place: _Place, rule: OneOf, variants: tuple[type[Variant], ...], value: Any
) -> Problem:
    """Return why `value` is none of the variants: no mapping, or opening keys of none or of
    several.
    """
    if not isinstance(value, Mapping):
        return Problem(place.where, f"{found(value)}expected {rule.text}")
    opening = [name for variant in variants for name in variant.opening]
    if given := [name for name in opening if name in value]:
        why = f": {rule.several}" if rule.several else ""
        return Problem(place.where, f"got {' and '.join(given)}; expected {rule.text}{why}")
    known = {name for variant in variants for name, _ in fields(variant)}
    for name in value:
        if name not in known and difflib.get_close_matches(str(name), opening, n=1):
            return Problem((*place.where, name), f"unknown key; {did_you_mean(str(name), known)}")
    return Problem(place.where, f"{rule.missing}; expected {rule.text}")


def _message(place: _Place, kind: str, detail: Any) -> str:
    info, value = place.info, detail["input"]
    if kind == "rule":  # made by `broken`, in words for the author
        return detail["msg"]
    if kind == "extra_forbidden":
        return _unknown(place, str(place.where[-1]))
    if info is None:
        return unexpected(value, detail["msg"].lower())
    if kind == "missing":
        beside = f" {_beside(place.section)}" if place.variants else ""
        return f"missing{beside}; expected {expected(info)}: {info.description}"
    wanted = (expected_inside if place.inside else expected)(info)
    return unexpected(value, wanted)


def _and(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _unknown(place: _Place, name: str) -> str:
    others = [v.title for v in place.variants if name in dict(fields(v))]
    if others:
        return f"belongs to {_and(others)}, not {_beside(place.section)}"
    known = [name for name, _ in fields(place.section)]
    if issubclass(place.section, Variant) and not place.section.opening:
        known += [name for variant in place.variants for name in variant.opening]
    return f"unknown key; {did_you_mean(name, known)}"


def _beside(section: type[Section]) -> str:
    """`beside `images``: the keys that selected the variant; of none, what it is about."""
    assert issubclass(section, Variant)
    if not section.opening:
        return f"to {section.title}"
    return "beside " + " and ".join(f"`{name}`" for name in section.opening)
