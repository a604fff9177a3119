"""The compliance cases of GoogleSQL: their files, and the values that they expect.

A file has cases between lines of ==, each of options in brackets, a statement, a line of -- and the
result. https://github.com/google/googlesql/tree/master/googlesql/compliance
"""

import datetime as dt
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHIFTS = {dt.timedelta(hours=hours) for hours in (0, 7, 8)}
"""A text without an offset is a time of Los Angeles in these cases, in BigQuery one of UTC."""


@dataclass(frozen=True)
class Case:
    """A statement and its result, as the file has both. needs: features of the language."""

    name: str
    statement: str
    expected: str
    needs: frozenset[str]
    prepares: bool
    parameters: bool

    @property
    def fails(self) -> bool:
        return self.expected.startswith("ERROR")


@dataclass(frozen=True)
class Bare:
    """A value without quotation marks: a number, a date or a time."""

    text: str


@dataclass(frozen=True)
class Unordered:
    """An array whose elements may come in any order."""

    items: list[Any]


def read(path: Path) -> Iterator[Case]:
    """The cases of a file. Those without a name, which prepare tables, have ''."""
    defaults: dict[str, str] = {}
    for block in re.split(r"^==\s*$", path.read_text(), flags=re.M):
        text = re.sub(r"^#.*\n", "", block, flags=re.M).lstrip()
        options = dict(defaults)
        while match := re.match(r"\[(default )?([a-z_]+)(?:=(.*?))?\]\s*?(?:\n|$)\s*", text, re.S):
            default, key, value = match.groups()
            (defaults if default else {}).update({key: value or ""})
            options[key] = value or ""
            text = text[match.end() :]
        statement, *results = re.split(r"^--\s*$", text.removeprefix("--\n"), flags=re.M)
        if statement.strip() and results:
            yield Case(
                options.get("name", ""),
                statement.strip(),
                results[0].strip(),
                frozenset(filter(None, options.get("required_features", "").split(","))),
                "prepare_database" in options,
                "parameters" in options,
            )


def value(text: str) -> Any:
    """The value of a result.

    NULL is None, a STRUCT a tuple, an ARRAY a list, Unordered where the file says so. Raises
    ValueError for another form.
    """
    found, end = _value(text, 0)
    # What follows are notes on the reference implementation.
    if text[end:].strip() and not text[end:].lstrip().startswith("NOTE"):
        raise ValueError(f"more than a value: {text[end:]:.60}")
    return found


_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"(NULL|true|false)\b")
_WORDS = {"NULL": None, "true": True, "false": False}
_QUOTED = re.compile(r"(b?)(\"\"\"|'''|\"|')((?:\\.|(?!\2).)*)\2", re.S)
_TYPE = re.compile(r"(ARRAY|STRUCT)\b")
_BARE = re.compile(r"[^,{}\[\]()]+")
_ORDER = re.compile(r"\s*(known|unknown) order:")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.S)
_PLAIN = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def _value(text: str, at: int) -> tuple[Any, int]:
    at = _skip(text, at)
    if match := _QUOTED.match(text, at):
        return _unquoted(match), match.end()
    if match := _WORD.match(text, at):
        return _WORDS[match[1]], match.end()
    if _TYPE.match(text, at):
        return _value(text, _end_of_type(text, at))
    if text.startswith("(", at):
        found, at = _value(text, at + 1)
        return found, _skip(text, at) + 1
    if text.startswith("{", at):
        items, at = _items(text, at + 1, "}")
        return tuple(items), at
    if text.startswith("[", at):
        order = _ORDER.match(text, at + 1)
        items, end = _items(text, order.end() if order else at + 1, "]")
        return (Unordered(items) if order and order[1] == "unknown" else items), end
    if match := _BARE.match(text, at):
        return Bare(match[0].strip()), match.end()
    raise ValueError(f"no value: {text[at : at + 60]}")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _items(text: str, at: int, close: str) -> tuple[list[Any], int]:
    items = []
    while not text.startswith(close, at := _skip(text, at)):
        item, at = _value(text, at)
        items.append(item)
        at = _skip(text, at)
        if text.startswith(",", at):
            at += 1
        elif not text.startswith(close, at):
            raise ValueError(f"expected {close}: {text[at : at + 60]}")
    return items, at + 1


def _end_of_type(text: str, at: int) -> int:
    """Where the type ARRAY<...> or STRUCT<...> ends."""
    at = text.find("<", at)
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "<") - (text[end] == ">")
        if depth == 0:
            return end + 1
    raise ValueError(f"no end of the type: {text[at : at + 60]}")


def _unquoted(match: re.Match[str]) -> str | bytes:
    def character(escape: re.Match[str]) -> str:
        body = escape[1]
        if body[0] in "xuU":
            return chr(int(body[1:], 16))
        return chr(int(body, 8)) if len(body) == 3 else _PLAIN.get(body, body)

    text = _ESCAPE.sub(character, match[3])
    return text.encode("latin-1") if match[1] else text


def same(expected: Any, answer: Any) -> bool:
    """Return whether a client's value is the expected one.

    BigQuery's results have no NULL arrays, and a sum of floating-point numbers depends on their
    order.
    """
    if isinstance(expected, Bare):
        return _is_written(expected.text, answer)
    if isinstance(expected, Unordered):
        return isinstance(answer, list) and _in_any_order(expected.items, answer)
    if isinstance(answer, dict):
        answer = tuple(answer.values())
    if answer == [] and expected is None:
        return True
    if isinstance(expected, list | tuple):
        return type(expected) is type(answer) and _in_order(expected, answer)
    return type(expected) is type(answer) and expected == answer


def _in_order(expected: Sequence[Any], answer: Sequence[Any]) -> bool:
    return len(expected) == len(answer) and all(map(same, expected, answer))


def _in_any_order(expected: list[Any], answer: list[Any]) -> bool:
    left = list(answer)
    for item in expected:
        place = next((n for n, other in enumerate(left) if same(item, other)), None)
        if place is None:
            return False
        left.pop(place)
    return not left


def _is_written(text: str, answer: Any) -> bool:
    """Return whether `text` writes this number, date or time."""
    try:
        if isinstance(answer, dt.datetime):
            moment = dt.datetime.fromisoformat(re.sub(r"\+00$", "+00:00", text))
            if moment.tzinfo is None or answer.tzinfo is None:
                return moment == answer
            return moment - answer in SHIFTS
        if isinstance(answer, dt.date | dt.time):
            return type(answer).fromisoformat(text) == answer
        if isinstance(answer, str) or answer is None or isinstance(answer, bool):
            return text == answer
        if isinstance(answer, int):
            return int(text) == answer
        wanted, got = float(text), float(answer)
    except (TypeError, ValueError):
        return False
    if math.isnan(wanted):
        return math.isnan(got)
    return wanted == got or math.isclose(wanted, got, rel_tol=1e-9, abs_tol=1e-12)
