"""Places the ticks of an axis at a few round values."""

import math
from decimal import Decimal

# Round steps are these times a power of ten, in rising order.
_MANTISSAS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5))
# Mantissas of the ticks of a logarithmic axis: the first of these that gives enough of them.
_LOG_MANTISSAS = ((1,), (1, 3), (1, 2, 5))
_ENOUGH = 3


def linear(low: float, high: float, count: int, *, integer: bool = False) -> list[Decimal]:
    """Multiples of a round step in [low, high]: at most `count` steps, and at least two multiples.

    integer: whole numbers, of which there may be fewer than two. Each value has as many decimals
    as the step. Requires low < high and finite.
    """
    least, most = Decimal(low), Decimal(high)
    smallest = (most - least) / count
    if integer:
        smallest = max(smallest, Decimal(1))
    index = len(_MANTISSAS) * smallest.adjusted()
    while _step(index) < smallest:
        index += 1
    while True:
        step = _step(index)
        if not (integer and step % 1):
            places = range(math.ceil(least / step), math.floor(most / step) + 1)
            if len(places) >= 2 or (integer and step == 1):
                return [place * step for place in places]
        index -= 1


def _step(index: int) -> Decimal:
    """The round steps in rising order: ..., 0.5, 1 (index 0), 2, 2.5, 5, 10, ..."""
    power, place = divmod(index, len(_MANTISSAS))
    return _MANTISSAS[place].scaleb(power)


def logarithmic(low: float, high: float, count: int) -> list[float]:
    """Powers of ten in [low, high], and between them 3, or 2 and 5, where they are few.

    Of more than 2 `count` powers some are left out; where there are not even two such values, ticks
    are as on a linear axis. Requires 0 < low < high and finite.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for mantissas in _LOG_MANTISSAS:
        values = [float(f"{m}e{power}") for power in powers for m in mantissas]
        found = [value for value in values if low <= value <= high]
        if len(found) >= _ENOUGH:
            break
    if len(found) < 2:
        return [float(value) for value in linear(low, high, count)]
    return found[:: math.ceil(len(found) / (2 * count))]
