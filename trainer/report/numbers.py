"""Numbers as a reader sees them."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from trellis_contracts.leaderboard import Estimate, FeatureImportance

MINUS = "\N{MINUS SIGN}"  # as wide as a plus, unlike the hyphen

# A value that needs more decimals than this is written with an exponent.
_PLACES = 9


def is_number(value: object) -> TypeGuard[int | float]:
    """A finite number; booleans are not numbers here."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def text(value: object) -> str:
    """A hyperparameter's value for a reader: 2 for the tuner's 2.0, true for True."""
    if isinstance(value, bool):
        return str(value).lower()
    if is_number(value):
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"
    return str(value)


def score(value: float, places: int = 4, signed: bool = False) -> str:
    """A metric's value with this number of decimals; a true minus sign, and a plus if wanted."""
    if value is None or not math.isfinite(value):
        return "–"  # noqa: RUF001 (an en dash in a table's cell)
    shape = f",.{places}f" if places <= _PLACES else ".4g"
    return f"{value:{'+' if signed else ''}{shape}}".replace("-", MINUS)


def interval(estimate: Estimate | FeatureImportance, places: int = 4, signed: bool = False) -> str:
    """An estimate's interval as text: [0.9364, 0.9909]."""
    low, high = estimate.interval
    return f"[{score(low, places, signed)}, {score(high, places, signed)}]"


def figure(number: float) -> str:
    """A number of any size with four digits that count."""
    return f"{number:.4g}".replace("-", MINUS)


def finite_points(history: Sequence[Mapping], key: str) -> list[tuple[float, float]]:
    """(epoch, value) of a key of a metrics.json's history; a diverged epoch's NaN is left out."""
    return [(epoch["epoch"], epoch[key]) for epoch in history if is_number(epoch.get(key))]
