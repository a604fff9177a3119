"""Formats scores for people."""

from typing import Protocol

# Values are rounded to a millionth of the metric's range; people read a ten-thousandth.
_NOT_SHOWN = 2


class Scored(Protocol):
    """A value with the bounds of its interval."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def places(decimals: int) -> int:
    """Number of decimals to show of a metric whose values are rounded to `decimals`."""
    return max(0, decimals - _NOT_SHOWN)


def score(found: Scored, decimals: int, signed: bool = False) -> str:
    """A value with its interval: 0.9838 [0.9533, 0.9966]. decimals: of the metric. signed: with a
    plus, as of a difference.
    """
    shape = f"{'+' if signed else ''}.{places(decimals)}f"
    value, low, high = (f"{n:{shape}}" for n in (found.value, found.low, found.high))
    return f"{value} [{low}, {high}]"
