"""Converts values of deep images, of more than 8 bits per channel, into pixels.

    full              the whole range of the file's type: 0 to 65,535 of 16 bits, 0 to 255 of 8. Not
                      of floats and 32 bits, whose range says nothing of what they hold
    range:LOW,HIGH    LOW becomes black, HIGH white; values outside become these
    percentiles:A,B   the same with the image's own percentiles A and B, of all its channels
    window            the same with the first window of a DICOM file's header

Pixels have 16 bits then, whatever the file has: 0 is black and 65,535 white.
"""

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from trainer.images.errors import ImageError
from trainer.images.losses import Loss

Rule = Literal["full", "range", "percentiles", "window"]

WHITE = 65_535


@dataclass(frozen=True)
class Ends:
    """What a file calls black and white. full: the least and the largest value of its type; None:
    they say nothing of the image (floats, 32 bits). window: of a DICOM file's header, where it has
    one.
    """

    full: tuple[float, float] | None
    window: tuple[float, float] | None = None


EIGHT_BITS = Ends((0, 255))


@dataclass(frozen=True)
class Scale:
    """low, high: of the range, or in percent; 0 and 0 of `full` and `window`."""

    rule: Rule
    low: float = 0.0
    high: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "Scale":
        """Read a scale as the module's docstring writes it. Raises ValueError."""
        rule, colon, numbers = text.partition(":")
        if rule in ("full", "window") and not colon:
            return cls(cast(Rule, rule))
        ends = [float(number) for number in numbers.split(",")]
        if rule not in ("range", "percentiles") or len(ends) != 2 or not np.isfinite(ends).all():
            raise ValueError(f"{text!r} is no scale")
        low, high = ends
        if low >= high or (rule == "percentiles" and not 0 <= low < high <= 100):
            raise ValueError(f"{text!r}: {low:g} and {high:g} are no ends of a range")
        return cls(cast(Rule, rule), low, high)

    def __str__(self) -> str:
        ends = (repr(int(end) if end.is_integer() else end) for end in (self.low, self.high))
        return self.rule if self.rule in ("full", "window") else f"{self.rule}:{','.join(ends)}"

    def apply(self, values: np.ndarray, ends: Ends) -> tuple[np.ndarray, tuple[Loss, ...]]:
        """Values of any type and shape as uint16, and what is lost.

        ends: that the file itself has. Raises ImageError if the rule needs some that it lacks, or a
        value is not a number.
        """
        if not (whole := values.dtype.kind in "iu") and not np.isfinite(values).all():
            raise ImageError("values that are not a number, or infinite")
        low, high = self._ends(values, ends)
        lost: list[Loss] = []
        if self.rule in ("range", "window") and (values.min() < low or values.max() > high):
            lost.append("clipped")
        if not whole or high - low > WHITE:
            lost.append("rounded")
        if whole and values.dtype.itemsize <= 2:
            return _by_table(values, low, high), tuple(lost)
        return _linear(values.astype(np.float64), low, high), tuple(lost)

    def _ends(self, values: np.ndarray, ends: Ends) -> tuple[float, float]:
        if self.rule == "range":
            return self.low, self.high
        if self.rule == "percentiles":
            low, high = np.percentile(values, (self.low, self.high)).tolist()
            if low == high and values.min() < values.max():
                raise ImageError(
                    f"the percentiles {self.low:g} and {self.high:g} are both {low:g}, of values "
                    f"from {values.min():g} to {values.max():g}: give source.scale a range, or "
                    "percentiles farther apart"
                )
            return low, high
        if self.rule == "window":
            if ends.window is None:
                raise ImageError(
                    "no window in its header (DICOM's WindowCenter and WindowWidth, LINEAR); give "
                    "source.scale a range or percentiles"
                )
            return ends.window
        if ends.full is None:
            raise ImageError(
                "floats or 32-bit integers, whose full range says nothing of the image; give "
                "source.scale a range or percentiles"
            )
        return ends.full


def _by_table(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Scale integers of up to 16 bits by a table: each value is computed once."""
    known = np.iinfo(values.dtype)
    table = _linear(np.arange(known.min, known.max + 1, dtype=np.float64), low, high)
    return table[values if known.min == 0 else values.astype(np.int32) - known.min]


def _linear(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """float64, changed in place -> uint16. An image of one value, of which percentiles make no
    range, becomes black.
    """
    values -= low
    values *= WHITE / (high - low) if high > low else 0
    np.clip(values, 0, WHITE, out=values)
    return np.rint(values, out=values).astype(np.uint16)
