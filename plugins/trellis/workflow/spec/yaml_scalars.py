"""Meaning of a word without quotes in a YAML file: YAML 1.2's core schema.

PyYAML resolves YAML 1.1, where `010` is 8, `1:30` is 90, `no` is false and `1e-4` is text. Here
`no`, `2024-02-30` and `1:30 h` are text, and `1e-4` a number. A number that both versions read, and
read differently, is refused: the author may have meant either, or a text.
https://yaml.org/spec/1.2.2/#103-core-schema
"""

import math
import re

_NULL = ("", "~", "null", "Null", "NULL")
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

# https://yaml.org/type/int.html and https://yaml.org/type/float.html have version 1.1's.
_AMBIGUOUS = re.compile(
    r"""[-+]?0[0-9_]+                              # 010: octal, or decimal
    | 0o[0-7]+                                     # 0o10: text, or octal
    | [-+]?0b[01_]+                                # 0b11: binary, or text
    | [-+]0x[0-9a-fA-F_]+ | 0x[0-9a-fA-F]*_[0-9a-fA-F_]*
    | [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)? # 1:30: base 60, or text
    | [-+]?(?=[0-9._]*_)(?=[._]*[0-9])[0-9.][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?  # 1_000
    """,
    re.VERBOSE,
)

# BigQuery and JSON's readers have no others.
_LARGEST = 2**63


class ScalarError(ValueError):
    """A word has no one meaning, or one that no file has a use for; the message says why."""


def value(text: str) -> str | int | float | bool | None:
    """The value of a word without quotes. Raises ScalarError."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _AMBIGUOUS.fullmatch(text):
        raise ScalarError(
            f"versions 1.1 and 1.2 of YAML read {_short(text)} differently: write a decimal "
            f'number, or "{_short(text)}" in quotes if it is text'
        )
    if _NOT_FINITE.fullmatch(text):
        raise ScalarError(f'{text} is no number that counts: leave it out, or write "{text}"')
    if _INTEGER.fullmatch(text) or _HEXADECIMAL.fullmatch(text):
        # Python refuses to convert thousands of digits.
        number: int | float = int(text, 0) if len(text) <= 20 else _LARGEST
        if not -_LARGEST <= number < _LARGEST:
            raise ScalarError(f'{_short(text)} has more than 64 bits: write "..." if it is text')
        return number
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise ScalarError(f"{_short(text)} is above every number that a computer counts with")
        return number
    return text


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."
