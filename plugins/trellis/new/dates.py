"""Dates, moments and times of day that a column of texts holds, in the orders that people write."""

from dataclasses import dataclass
from typing import Any

_DAY = r"(?P<d>\d{1,2})"
_MONTH = r"(?P<m>\d{1,2})"
_YEAR = r"(?P<y>\d{4})"
_SECONDS = r"(?::(?P<S>\d{2})(?P<f>[.,]\d{1,9})?)?"
_HALF = r"(?: ?(?P<half>[aApP])\.?[mM]\.?)?"
_CLOCK = rf"(?P<H>\d{{1,2}}):(?P<M>\d{{2}}){_SECONDS}{_HALF}"
_ZONE = r"(?: ?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2}))?"
_TIME = rf"(?:[T ]+{_CLOCK}{_ZONE})?"

ISO = rf"^{_YEAR}-{_MONTH}-{_DAY}{_TIME}$"
YEAR_FIRST = rf"^{_YEAR}[/.]{_MONTH}[/.]{_DAY}{_TIME}$"
POINTS = rf"^{_DAY}\.{_MONTH}\.{_YEAR}{_TIME}$"
DAY_FIRST = rf"^{_DAY}[-/]{_MONTH}[-/]{_YEAR}{_TIME}$"
MONTH_FIRST = rf"^{_MONTH}[-/]{_DAY}[-/]{_YEAR}{_TIME}$"
_LIKE = (
    r"^(\d{1,4}[-/. ](\d{1,2}|[A-Za-z]{3,9}\.?)[-/., ]+\d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4})"
    r"([T ]+\d{1,2}:.*)?$"
)
_MOSTLY = 0.5
"""Share of dates from which a column of texts is said to be nearly one of dates."""

TIME_OF_DAY = rf"^{_CLOCK}$"


class AmbiguousError(ValueError):
    """Day and month cannot be distinguished."""


@dataclass(frozen=True)
class Moments:
    """values: a pyarrow array of date32, timestamp[us], timestamp[us, UTC] or time64[us]. order:
    what was read, for people; empty for ISO 8601.
    """

    values: Any
    order: str = ""


def parsed(texts: Any, chosen: str | None) -> Moments | None:
    """The texts as dates, moments or times of day; None if they are not all. texts: a pyarrow array
    of strings, null for a missing value. chosen: `day-first` or `month-first`. Raises
    AmbiguousError.

    Dates between points have the day first, in all countries that write them so. Between slashes,
    a number above 12 is the day.
    """
    from pyarrow import compute

    def all_match(pattern: str) -> bool:
        return bool(compute.all(compute.match_substring_regex(texts, pattern)).as_py())

    if all_match(TIME_OF_DAY):
        return _read(texts, TIME_OF_DAY, "")
    for pattern, order in ((ISO, ""), (YEAR_FIRST, "year, month, day"), (POINTS, "day.month.year")):
        if all_match(pattern):
            return _read(texts, pattern, order)
    if not all_match(DAY_FIRST):
        return None
    orders = {"day-first": DAY_FIRST, "month-first": MONTH_FIRST}
    found = {order: _read(texts, pattern, order) for order, pattern in orders.items()}
    if chosen is not None:
        return found[chosen]
    possible = [moments for moments in found.values() if moments is not None]
    if len(possible) == 2 and not possible[0].values.equals(possible[1].values):
        raise AmbiguousError
    return possible[0] if possible else None


def odd(texts: Any) -> str | None:
    """The first text that keeps a column from being one of dates; None if most are no dates.

    texts: a pyarrow array of strings that `parsed` takes for none.
    """
    import pyarrow
    from pyarrow import compute

    def alike(pattern: str) -> Any:
        return compute.match_substring_regex(texts, pattern)

    if compute.mean(alike(_LIKE)).as_py() < _MOSTLY:
        return None
    for pattern in (ISO, YEAR_FIRST, POINTS, DAY_FIRST):
        found = alike(pattern)
        if compute.mean(found).as_py() < _MOSTLY:
            continue
        others = texts.filter(compute.invert(found))
        if len(others):
            return others[0].as_py()
        orders = (pattern, MONTH_FIRST) if pattern == DAY_FIRST else (pattern,)
        for text in texts.unique().to_pylist():
            if all(_read(pyarrow.array([text]), order, "") is None for order in orders):
                return text
    return texts[0].as_py()


def _read(texts: Any, pattern: str, order: str) -> Moments | None:
    import pyarrow
    from pyarrow import compute

    parts = compute.extract_regex(texts, pattern)

    def part(name: str, width: int = 2) -> Any:
        found = compute.struct_field(parts, name)
        return compute.utf8_lpad(found, width, "0")

    clock = pattern == TIME_OF_DAY
    if clock:
        date = compute.if_else(compute.is_valid(texts), "1970-01-01", None)
        has_time, zoned = True, False
    else:
        date = compute.binary_join_element_wise(part("y", 4), part("m"), part("d"), "-")
        hours = compute.struct_field(parts, "H")
        has_time = bool(compute.any(compute.not_equal(hours, "")).as_py())
        zones = compute.not_equal(compute.struct_field(parts, "zone"), "")
        zoned = bool(compute.any(zones).as_py())
        if zoned and not compute.all(zones).as_py():
            return None
    try:
        if not has_time:
            return Moments(compute.cast(date, pyarrow.date32()), order)
        moment = compute.binary_join_element_wise(date, _clock(parts, part), "T")
        values = compute.cast(moment, pyarrow.timestamp("us"))
        if zoned:
            shift = _offset(compute.struct_field(parts, "zone"))
            values = compute.subtract(values, shift)
            values = compute.cast(values, pyarrow.timestamp("us", "UTC"))
        if clock:
            values = compute.cast(values, pyarrow.time64("us"))
    except ValueError:  # pyarrow.ArrowInvalid: no such day or time
        return None
    return Moments(values, order)


def _clock(parts: Any, part: Any) -> Any:
    """HH:MM:SS.ffffff of each text; midnight where it has no time."""
    import pyarrow
    from pyarrow import compute

    half = compute.utf8_lower(compute.struct_field(parts, "half"))
    hours = compute.cast(part("H"), pyarrow.int8())
    twelve = compute.equal(hours, 12)
    pm, am = compute.equal(half, "p"), compute.equal(half, "a")
    hours = compute.if_else(compute.and_(pm, compute.invert(twelve)), compute.add(hours, 12), hours)
    hours = compute.if_else(compute.and_(am, twelve), 0, hours)
    fraction = compute.utf8_slice_codeunits(compute.struct_field(parts, "f"), 1, 7)
    fraction = compute.utf8_rpad(fraction, 6, "0")
    seconds = compute.binary_join_element_wise(part("S"), fraction, ".")
    text = compute.utf8_lpad(compute.cast(hours, pyarrow.string()), 2, "0")
    return compute.binary_join_element_wise(text, part("M"), seconds, ":")


def _number(text: Any) -> Any:
    from pyarrow import compute

    return compute.if_else(compute.equal(text, ""), "0", text)


def _offset(zones: Any) -> Any:
    """Return the offset of each time zone from UTC: a pyarrow array of durations."""
    import pyarrow
    from pyarrow import compute

    pattern = r"^(?P<sign>[+-]?)(?P<h>\d{0,2}):?(?P<m>\d{0,2})$"
    plain = compute.replace_substring_regex(zones, "Z|UTC", "")
    parts = compute.extract_regex(plain, pattern)

    def number(name: str) -> Any:
        return compute.cast(_number(compute.struct_field(parts, name)), pyarrow.int64())

    minutes = compute.add(compute.multiply(number("h"), 60), number("m"))
    sign = compute.equal(compute.struct_field(parts, "sign"), "-")
    minutes = compute.if_else(sign, compute.negate(minutes), minutes)
    return compute.cast(compute.multiply(minutes, 60_000_000), pyarrow.duration("us"))
