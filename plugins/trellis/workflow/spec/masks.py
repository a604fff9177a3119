"""The classes of masks as people write them: `{background: 0, cell: 255}`, or `[background, cell]`
of masks whose pixels are their indices.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer
from pydantic_core import PydanticCustomError

from trellis.workflow.spec.quantities import Form
from trellis_contracts.columns import MaskClass
from trellis_contracts.tasks import SEGMENTATION, TASKS

_COLOUR = re.compile(r"#[0-9a-f]{6}")
_FORMS = (
    "classes by the value of their pixels, the background first, as in {background: 0, cell: 255}; "
    'by their colour, as in {background: "#000000", cell: "#ff0000"}; or a list of classes, whose '
    "pixels have the values 0, 1 and so on"
)


def _masks(value: Any) -> tuple[MaskClass, ...]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, list):
        value = {name: number for number, name in enumerate(value)} if _differ(value) else None
    if not isinstance(value, Mapping):
        raise ValueError("no classes")
    found = tuple(MaskClass(_name(name), _value(one)) for name, one in value.items())
    least, most = TASKS[SEGMENTATION].min_classes, TASKS[SEGMENTATION].max_classes
    if not least <= len(found) <= (most or len(found)):
        raise _error(f"got {len(found)} classes; a mask has {least} to {most}, background included")
    if len({type(one.value) for one in found}) > 1:
        raise _error("got values and colours; a file has either")
    known: dict[int | str, str] = {}
    for one in found:
        if one.value in known:
            raise _error(f"'{known[one.value]}' and '{one.name}' have the same value, {one.value}")
        known[one.value] = one.name
    return found


def _differ(names: list[Any]) -> bool:
    if not all(isinstance(name, str | int) for name in names):
        raise ValueError("no names")
    if repeated := sorted({str(name) for name in names if names.count(name) > 1}):
        raise _error(f"'{repeated[0]}' is listed twice")
    return True


def _name(name: Any) -> str:
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        raise _error(f"got {name!r} as the name of a class")
    return str(name)


def _value(value: Any) -> int | str:
    if isinstance(value, str) and _COLOUR.fullmatch(value.lower()):
        return value.lower()
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255:
        return value
    raise _error(f"got {value!r} as the value of a class, 0 to 255 or a colour such as '#ff0000'")


def _error(problem: str) -> PydanticCustomError:
    return PydanticCustomError("rule", "{message}", {"message": f"{problem}; expected {_FORMS}"})


def _text(masks: tuple[MaskClass, ...] | None) -> dict[str, int | str] | None:
    return None if masks is None else {one.name: one.value for one in masks}


Masks = Annotated[
    tuple[MaskClass, ...],
    BeforeValidator(_masks),
    PlainSerializer(_text),
    Form(
        _FORMS,
        {
            "anyOf": [
                {
                    "type": "object",
                    "minProperties": 2,
                    "maxProperties": 255,
                    "additionalProperties": {
                        "anyOf": [
                            {"type": "integer", "minimum": 0, "maximum": 255},
                            {"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"},
                        ]
                    },
                },
                {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 2,
                    "maxItems": 255,
                    "uniqueItems": True,
                },
            ]
        },
    ),
]
"""The classes of masks, the background first."""
