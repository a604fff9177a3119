"""What the test split is divided by: `site`, `age: [45, 60]`, `[sex, site]`."""

from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator
from pydantic_core import PydanticCustomError

from trellis.workflow.spec.quantities import Form
from trellis_contracts.slices import MOST_VALUES, SliceBy

_SLICE_COLUMN = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 1,
                "maxItems": MOST_VALUES - 1,
            },
        },
    ]
}

_SLICE_FORMS = (
    "a column, a number with the rising edges of its bins, as in {age: [45, 60]}, or a pair of "
    "either in brackets"
)


def _slice_entry(value: Any) -> SliceBy:
    try:
        return SliceBy.parse(value)
    except ValueError as error:
        message = f"{error}; expected {_SLICE_FORMS}"
        raise PydanticCustomError("rule", "{message}", {"message": message}) from None


SliceEntry = Annotated[
    SliceBy,
    PlainValidator(_slice_entry),
    PlainSerializer(SliceBy.to_document),
    Form(
        _SLICE_FORMS,
        {
            "anyOf": [
                *_SLICE_COLUMN["anyOf"],
                {"type": "array", "items": _SLICE_COLUMN, "minItems": 2, "maxItems": 2},
            ]
        },
    ),
]
"""What to divide the test split by; written `site`, `age: [45, 60]` or `[sex, site]`."""
