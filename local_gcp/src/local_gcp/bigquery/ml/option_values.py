"""Parsers for the values of CREATE MODEL's options.

Each function converts an option's value from SQL to the value that the training uses. It raises
ValueError or TypeError with BigQuery's message.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def not_negative(value: Any) -> float:
    """A FLOAT64 that is finite and not below 0."""
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a FLOAT64")
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{number} must be finite and not negative")
    return number


def positive(value: Any) -> float:
    """A finite FLOAT64 above 0."""
    number = not_negative(value)
    if number == 0:
        raise ValueError("0 must be positive")
    return number


def fraction(value: Any) -> float:
    """A FLOAT64 from 0 to 1."""
    number = not_negative(value)
    if number > 1:
        raise ValueError(f"{number} must be in [0, 1]")
    return number


def positive_fraction(value: Any) -> float:
    """A FLOAT64 above 0, up to 1."""
    return fraction(positive(value))


def inner_fraction(value: Any) -> float:
    """A FLOAT64 between 0 and 1, exclusive."""
    number = not_negative(value)
    if not 0 < number < 1:
        raise ValueError(f"{number} must be in (0, 1)")
    return number


def not_negative_integer(value: Any) -> int:
    """An INT64 not below 0."""
    if isinstance(value, bool) or int(value) != float(value):
        raise ValueError(f"{value} is not an INT64")
    if int(value) < 0:
        raise ValueError(f"{value} must not be negative")
    return int(value)


def positive_integer(value: Any) -> int:
    """An INT64 above 0."""
    number = not_negative_integer(value)
    if number == 0:
        raise ValueError("0 must be positive")
    return number


def integers(value: Any) -> list[int]:
    """An ARRAY<INT64> of numbers above 0."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("an ARRAY<INT64> is expected")
    return [positive_integer(number) for number in value]


def boolean(value: Any) -> bool:
    """A BOOL."""
    if not isinstance(value, bool):
        raise ValueError(f"{value} is not a BOOL")
    return value


def string(value: Any) -> str:
    """A STRING that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value} is not a STRING")
    return value


def one_text(value: Any) -> list[str]:
    """A STRING, or an ARRAY of one STRING."""
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list | tuple) or len(value) != 1:
        raise ValueError("an ARRAY<STRING> of exactly one label column is expected")
    return [string(value[0])]


def weights(value: Any) -> dict[str, float]:
    """ARRAY<STRUCT<label, weight>>; each STRUCT is an ordered mapping or a sequence."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("an ARRAY<STRUCT<STRING, FLOAT64>> is expected")
    found: dict[str, float] = {}
    for pair in value:
        fields = list(pair.values()) if isinstance(pair, dict) else list(pair)
        if len(fields) != 2:
            raise ValueError("each STRUCT needs a label and a weight")
        if str(fields[0]) in found:
            raise ValueError(f"the label {fields[0]} appears twice")
        found[str(fields[0])] = not_negative(fields[1])
    return found


def one_of(*choices: str) -> Callable[[Any], str]:
    """A parser for one of the given STRINGs, in any case."""

    def read(value: Any) -> str:
        text = string(value).upper()
        if text not in choices:
            raise ValueError(f"{text} is not one of {', '.join(choices)}")
        return text

    return read
