"""Numbers as people write them: decimal commas, groups of thousands, percent signs, currencies."""

import enum
from dataclasses import dataclass
from typing import Any

_PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?inf(inity)?$"
_WHOLE = r"^[+-]?\d+$"
_EXPONENT = r"([eE][+-]?\d+)?$"
_COMMA_GROUPS = r"^[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d+)?$"
_POINT_GROUPS = r"^[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d+)?$"
_BETWEEN = "[ '\u2019]"
_BLANK_GROUPS = rf"^[+-]?([1-9]\d{{0,2}}({_BETWEEN}\d{{3}})+|\d+)([.,]\d+)?$"
_COMMA_DECIMALS = rf"^[+-]?(\d+,?\d*|,\d+){_EXPONENT}"
_DECORATED = r"^[(<>=\x{2264}\x{2265}~\x{b1}+-]* ?\d[\d.,' ]*([eEdD][+-]?\d+)? ?[^\d\s]{0,12}$"
_LEADING_ZERO = r"^[+-]?0\d"
_SIGNS = "$€£¥₹|USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|HUF|BRL|INR|CNY|AUD|CAD|NZD|kr|zł|Fr."


class Mark(enum.Enum):
    """Evidence for a decimal mark in a column's texts."""

    NONE = "none"
    POINT = "."
    COMMA = ","
    EITHER = "either"


class AmbiguousError(ValueError):
    """Decimals or groups of thousands: the texts do not tell."""


@dataclass(frozen=True)
class Numbers:
    """values: a pyarrow array of int64 or float64. how: what was read, empty for plain numbers."""

    values: Any
    how: str = ""


class CodesError(ValueError):
    """The texts are digits, and numbers would lose some of them. The message says which."""


def mark_of(texts: Any) -> Mark:
    """The decimal mark that a column's texts show. texts: a pyarrow array of strings."""
    plain, _ = _undecorated(texts)
    if plain is None or not _any(plain, "[.,]"):
        return Mark.NONE
    comma = _all(plain, _COMMA_DECIMALS) or _all(plain, _POINT_GROUPS) or _blank(plain, ",")
    point = _all(plain, _PLAIN) or _all(plain, _COMMA_GROUPS) or _blank(plain, ".")
    if comma and point:
        return Mark.EITHER
    return Mark.COMMA if comma else Mark.POINT if point else Mark.NONE


def parsed(texts: Any, decimal: str | None) -> Numbers | None:
    """The texts as numbers; None if they are not all numbers.

    texts: a pyarrow array of strings without nulls. decimal: the mark of this file, if it is known.
    Raises CodesError for digits that are no amounts, and AmbiguousError for `1,234` in a file
    that leaves its mark open.
    """
    plain, how = _undecorated(texts)
    if plain is None:
        return None
    if not how and _any(plain, _LEADING_ZERO) and _all(plain, _PLAIN):
        raise CodesError("leading zeros")
    mark = mark_of(plain)
    if mark is Mark.EITHER:
        if decimal is None and _any(plain, ","):
            raise AmbiguousError
        mark = Mark.COMMA if decimal == "," else Mark.POINT
    elif mark is Mark.NONE and not _all(plain, _WHOLE) and not _blank(plain, ""):
        return Numbers(_cast(plain), how) if _all(plain, _PLAIN) else None
    return _read(plain, mark, how)


def number_like(texts: Any) -> Any:
    """Return which of the texts are numbers in any spelling: a pyarrow array of booleans."""
    from pyarrow import compute

    return compute.match_substring_regex(texts, rf"{_PLAIN}|{_COMMA_DECIMALS}|{_COMMA_GROUPS}")


def decorated(texts: Any) -> Any:
    """Mark the texts that are a number with a unit, sign or brackets, or in a spelling that is not
    read: a pyarrow array of booleans.
    """
    from pyarrow import compute

    return compute.match_substring_regex(texts, _DECORATED)


def _read(plain: Any, mark: Mark, how: str) -> Numbers | None:
    from pyarrow import compute

    grouped = ""
    if _blank(plain, "") or _blank(plain, mark.value):
        what = "apostrophes" if _any(plain, "['\u2019]") else "blanks"
        grouped = f"{what} between thousands"
        plain = compute.replace_substring_regex(plain, _BETWEEN, "")
    elif mark is Mark.COMMA and not _all(plain, _COMMA_DECIMALS):
        grouped, plain = "points between thousands", compute.replace_substring(plain, ".", "")
    elif mark is Mark.COMMA and not _any(plain, ","):
        grouped = "points between thousands"
        plain = compute.replace_substring(plain, ".", "")
    elif mark is Mark.POINT and not _all(plain, _PLAIN):
        grouped, plain = "commas between thousands", compute.replace_substring(plain, ",", "")
    if mark is Mark.COMMA and _any(plain, ","):
        grouped = ", ".join(filter(None, [grouped, "decimal commas"]))
        plain = compute.replace_substring(plain, ",", ".")
    if not _all(plain, _PLAIN):
        return None
    return Numbers(_cast(plain), ", ".join(filter(None, [how, grouped])))


def _cast(plain: Any) -> Any:
    import pyarrow
    from pyarrow import compute

    plain = compute.replace_substring_regex(plain, r"^\+", "")
    if _all(plain, _WHOLE):
        try:
            return compute.cast(plain, pyarrow.int64())
        except ValueError:  # pyarrow.ArrowInvalid
            raise CodesError("whole numbers beyond 64 bits") from None
    return compute.cast(plain, pyarrow.float64())


def _undecorated(texts: Any) -> tuple[Any, str]:
    """The texts without the percent sign or currency that all have, and which; None if they have
    several.
    """
    from pyarrow import compute

    plain = compute.replace_substring_regex(texts, "[\u2212\u2013]", "-")
    plain = compute.replace_substring_regex(plain, "[\u00a0\u202f\u2009]", " ")
    if _all(plain, r"\d ?%$"):
        return compute.replace_substring_regex(plain, " ?%$", ""), "12 % is 12"
    symbols, *words = _SIGNS.split("|")
    sign = rf"[{symbols}]|{'|'.join(words)}".replace(".", r"\.")
    before, after = rf"^([+-]?) ?({sign}) ?", rf" ?({sign})$"
    if not _any(plain, rf"{before}|{after}"):
        return plain, ""
    for pattern in (
        rf"^(?P<minus>[+-]?) ?(?P<sign>{sign}) ?(?P<rest>[\d.,].*)$",
        rf"^(?P<rest>.*\d) ?(?P<sign>{sign})$",
    ):
        if _all(plain, pattern):
            found = compute.extract_regex(plain, pattern)
            signs = compute.unique(compute.struct_field(found, "sign")).to_pylist()
            if len(signs) > 1:
                return None, ""
            rest = compute.struct_field(found, "rest")
            if "<minus>" in pattern:
                minus = compute.struct_field(found, "minus")
                rest = compute.binary_join_element_wise(minus, rest, "")
            return rest, f"without {signs[0]}"
    return None, ""


def _blank(texts: Any, mark: str) -> bool:
    """Return whether blanks or apostrophes stand between thousands, before decimals behind the
    mark.
    """
    decimals = rf"(\{mark}\d+)?" if mark in (".", ",") else ""
    pattern = _BLANK_GROUPS.replace(r"([.,]\d+)?", decimals)
    return _any(texts, rf"\d{_BETWEEN}\d") and _all(texts, pattern)


def _all(texts: Any, pattern: str) -> bool:
    from pyarrow import compute

    return bool(compute.all(compute.match_substring_regex(texts, pattern)).as_py())


def _any(texts: Any, pattern: str) -> bool:
    from pyarrow import compute

    return bool(compute.any(compute.match_substring_regex(texts, pattern)).as_py())
