"""Scale and labels of an axis: linear or logarithmic."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from trainer.report.numbers import is_number

# A positive quantity that spans more than this is drawn on a logarithmic scale.
_LOG_FROM = 30.0
# Unless its logarithm is at the edge of what a floating-point number holds.
_LOG_LEAST = 1e-280
# Up to this many different whole numbers (layers, units) are shown as what was tried.
_FEW = 8
# Labels of a logarithmic axis: the first of these, times powers of ten, that gives enough of them.
_MANTISSAS = ((1,), (1, 3), (1, 2, 5))
_ENOUGH = 3
_MOST = 10


def is_wide(values: Iterable[float]) -> bool:
    """Return whether values, at least one, are positive and span so much that a logarithm shows
    more.
    """
    values = list(values)
    return min(values) > _LOG_LEAST and max(values) / min(values) > _LOG_FROM


def scale(values: Sequence[float], *, logarithmic: bool | None = None, room: int = 8) -> Any:
    """Properties of Vega-Lite's scale that shows all values, at least one, with some room around.

    logarithmic: None decides by the values' range. room: pixels.
    """
    low, high = min(values), max(values)
    if low == high:
        # A logarithm has no room below zero; one value needs no logarithm.
        return {"domain": [low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)]}
    if logarithmic is None:
        logarithmic = is_wide(values)
    kind = {"type": "log"} if logarithmic and low > 0 else {}
    return {"domain": [low, high], "padding": room, **kind}


def axis(shown: Any, count: int, *, whole: bool = False) -> Any:
    """Properties of Vega-Lite's axis of `scale`'s result with about `count` labels.

    whole: only whole numbers.
    """
    if shown.get("type") == "log":
        return {"values": logarithmic_labels(*shown["domain"]), "format": "~g"}
    return {"tickCount": count, **({"tickMinStep": 1, "format": "d"} if whole else {})}


def logarithmic_labels(low: float, high: float) -> list[float]:
    """Powers of ten in [low, high], and between them 3, or 2 and 5, where they are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for mantissas in _MANTISSAS:
        values = [float(f"{m}e{power}") for power in powers for m in mantissas]
        found = [value for value in values if low <= value <= high]
        if len(found) >= _ENOUGH:
            break
    return found[:: math.ceil(len(found) / _MOST)] if found else [low, high]


def categories(values: Iterable[Any]) -> list[Any] | None:
    """Different values in order if they are names or a few whole numbers, else None."""
    distinct = sorted(set(values), key=lambda value: (isinstance(value, str), value))
    numbers = [value for value in distinct if is_number(value)]
    few_whole = len(distinct) <= _FEW and all(float(one).is_integer() for one in numbers)
    return None if len(numbers) == len(distinct) and not few_whole else distinct
