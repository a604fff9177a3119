"""Sizes, scales and pages of images as people write them: `8` or `[28, 32]` pixels."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from trellis.workflow.spec.quantities import Form, number, pair
from trellis_contracts.dataset_features import MEAN


def _pixels(value: Any) -> tuple[int, int]:
    sides = value if isinstance(value, list | tuple) else [value, value]
    whole = all(isinstance(side, int) and not isinstance(side, bool) for side in sides)
    if len(sides) != 2 or not whole or not all(1 <= side <= 8192 for side in sides):
        raise ValueError("no such size")
    return sides[0], sides[1]


def _pixels_text(size: tuple[int, int]) -> int | list[int]:
    return size[0] if size[0] == size[1] else list(size)


def _scale(value: Any) -> str:
    """Parse the value as trainer.images.scale writes it."""
    if value == "percentiles":
        value = {"percentiles": [1, 99]}
    if value in ("full", "window"):
        return str(value)
    if not isinstance(value, Mapping) or len(value) != 1:
        raise ValueError("no scale")
    ((rule, ends),) = value.items()
    if rule not in ("range", "percentiles") or not isinstance(ends, list) or len(ends) != 2:
        raise ValueError("no scale")
    low, high = (float(number(end)) for end in ends)
    if low >= high or (rule == "percentiles" and not 0 <= low < high <= 100):
        raise ValueError("no rising ends")
    return f"{rule}:{_plain(low)},{_plain(high)}"


def _scale_text(scale: str | None) -> str | dict[str, list[int | float]] | None:
    if scale is None or ":" not in scale:
        return scale
    rule, _, ends = scale.partition(":")
    return {rule: [json.loads(end) for end in ends.split(",")]}


def _page(value: Any) -> str:
    """Parse the value as trainer.images.pages writes it."""
    if value in ("first", MEAN):
        return str(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("no page")
    return str(value)


def _page_text(page: str | None) -> int | str | None:
    return int(page) if page is not None and page.isdecimal() else page


def _plain(number: float) -> int | float:
    return int(number) if number.is_integer() else number


Scale = Annotated[
    str,
    BeforeValidator(_scale),
    PlainSerializer(_scale_text),
    Form(
        "full, percentiles, window, {range: [200, 3900]} or {percentiles: [0.1, 99.9]}",
        {
            "anyOf": [
                {"enum": ["full", "percentiles", "window"]},
                *(
                    {
                        "type": "object",
                        "properties": {
                            rule: {
                                "type": "array",
                                "items": {"type": "number"},
                                "minItems": 2,
                                "maxItems": 2,
                            }
                        },
                        "required": [rule],
                        "additionalProperties": False,
                    }
                    for rule in ("range", "percentiles")
                ),
            ]
        },
    ),
]
"""Mapping of values of deep images to pixels, as trainer.images.scale writes it."""

Page = Annotated[
    str,
    BeforeValidator(_page),
    PlainSerializer(_page_text),
    Form(
        "a page's number from 1 on, first or mean",
        {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["first", MEAN]}]},
    ),
]
"""A page of a file of several, as trainer.images.pages writes it."""

Pixels = Annotated[
    tuple[int, int],
    BeforeValidator(_pixels),
    PlainSerializer(_pixels_text),
    Form(
        "one side of a square or [height, width], whole pixels from 1 to 8192",
        {"anyOf": [pair(8192)["items"], pair(8192)]},
    ),
]
"""(height, width); written `8` or `[28, 32]`."""
