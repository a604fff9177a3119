"""Data values to pixels."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeGuard

from trainer.report import ticks

MINUS = "\N{MINUS SIGN}"  # as wide as a plus, unlike the hyphen

# A positive quantity that spans more than this is drawn on a logarithmic scale.
_LOG_FROM = 30.0
# Unless it comes so close to zero that the room around it would reach zero.
_LOG_LEAST = 1e-280
# Up to this many different whole numbers (layers, units) are shown as what was tried.
_FEW = 8


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: pixel and text."""

    at: float
    text: str


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic map of the numbers [low, high] to the pixels [start, end]."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def around(
        cls,
        values: Iterable[float],
        start: float,
        end: float,
        *,
        padding: float = 0.04,
        logarithmic: bool | None = None,
    ) -> "Scale":
        """The scale that shows all values, with some padding.

        logarithmic: None decides by the values' range. Values must be finite, at least one.
        """
        values = list(values)
        low, high = min(values), max(values)
        if logarithmic is None:
            logarithmic = low > _LOG_LEAST and high / low > _LOG_FROM
        if logarithmic:
            low, high = math.log10(low), math.log10(high)
        spread = (high - low) * padding or abs(low) * 0.1 or 0.5
        low, high = low - spread, high + spread
        if logarithmic:
            low, high = 10**low, 10**high
        return cls(low, high, start, end, logarithmic)

    def __call__(self, value: float) -> float:
        """Pixel of a value, to a tenth."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return round(self.start + (value - low) / (high - low) * (self.end - self.start), 1)

    def ticks(self, count: int = 5, *, integer: bool = False) -> list[Tick]:
        """About `count` round values within the scale."""
        if self.logarithmic:
            values = ticks.logarithmic(self.low, self.high, count)
            return [Tick(self(value), f"{value:g}") for value in values]
        round_values = ticks.linear(self.low, self.high, count, integer=integer)
        return [Tick(self(float(value)), _round_text(value)) for value in round_values]


def _round_text(value: Decimal) -> str:
    """A tick's value with the decimals of its step, at most nine."""
    exponent = value.as_tuple().exponent
    decimals = min(max(-exponent, 0), 9) if isinstance(exponent, int) else 0
    return f"{value:,.{decimals}f}".replace("-", MINUS)


@dataclass(frozen=True)
class Categories:
    """Values without distances, such as names, spread evenly over the pixels [start, end]."""

    values: Sequence[object]
    start: float
    end: float

    def __call__(self, value: object) -> float:
        """Pixel of a value."""
        share = (self.values.index(value) + 0.5) / len(self.values)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, count: int = 0) -> list[Tick]:
        """One tick for every value."""
        return [Tick(self(value), text(value)) for value in self.values]


def scale_for(
    values: Sequence[object], start: float, end: float, logarithmic: bool | None = None
) -> Scale | Categories:
    """The scale for a hyperparameter: Categories for names and a few whole numbers, else a Scale.

    logarithmic: None decides by the values' range.
    """
    distinct = sorted(set(values), key=lambda v: (isinstance(v, str), v))
    numbers = [value for value in distinct if is_number(value)]
    few_whole = len(distinct) <= _FEW and all(float(number).is_integer() for number in numbers)
    if len(numbers) == len(distinct) and not few_whole:
        return Scale.around(numbers, start, end, logarithmic=logarithmic)
    return Categories(distinct, start, end)


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
