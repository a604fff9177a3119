"""Google's list filters: `state="JOB_STATE_FAILED" AND (labels.team=a OR display_name:"run-*")`.

The language is https://google.aip.dev/160, as far as Vertex AI's list methods document it. Two
things surprise: OR binds tighter than AND (`a AND b OR c` is `a AND (b OR c)`), and terms that only
a space divides are ANDed. A field or an operator that the method does not support is refused with
INVALID_ARGUMENT that names it, never ignored.
"""

from __future__ import annotations

import datetime
import fnmatch
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from local_gcp.field_errors import invalid_field
from local_gcp.wire import RpcError

Predicate = Callable[[Any], bool]
"""Test of a resource message."""

_ORDER = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<operator><=|>=|!=|[=<>:()])
      | (?P<minus>-(?=[\w(]))
      | (?P<text>[^\s"'=<>!:()]+)
    )""",
    re.VERBOSE,
)


class Field:
    """A filterable field: `test(operator, value)` returns a predicate, or raises ValueError."""

    operators: tuple[str, ...] = ()

    def __init__(self, name: str):
        self.name = name

    def test(self, op: str, value: str, _key: str | None) -> Predicate:
        raise NotImplementedError


class Id(Field):
    """The last part of a resource's name: =, !=."""

    operators = ("=", "!=")

    def test(self, op: str, value: str, _key: str | None) -> Predicate:
        return lambda message: (message.name.rpartition("/")[2] == value) == (op == "=")


class Text(Field):
    """A string: =, != compare it; `:` takes * as a wildcard."""

    operators = ("=", "!=", ":")

    def test(self, op: str, value: str, _key: str | None) -> Predicate:
        if op == ":":
            # Only * is a wildcard; fnmatch knows ? and [ too.
            pattern = re.sub(r"[\[?]", r"[\g<0>]", value)
            return lambda message: fnmatch.fnmatchcase(getattr(message, self.name), pattern)
        compare = _ORDER[op]
        return lambda message: compare(getattr(message, self.name), value)


class Choice(Field):
    """An enum, by the name of its value: =, !=."""

    operators = ("=", "!=")

    def __init__(self, name: str, enum: Any):
        super().__init__(name)
        self.enum = enum

    def test(self, op: str, value: str, _key: str | None) -> Predicate:
        if value not in self.enum.__members__:
            raise ValueError(f"{value!r} is not one of {', '.join(self.enum.__members__)}")
        compare, wanted = _ORDER[op], self.enum[value]
        return lambda message: compare(getattr(message, self.name), wanted)


class Time(Field):
    """A timestamp, compared with an RFC 3339 one."""

    operators = tuple(_ORDER)

    def test(self, op: str, value: str, _key: str | None) -> Predicate:
        try:
            wanted = datetime.datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r} is not an RFC 3339 time") from None
        if wanted.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone, such as the Z in RFC 3339")
        compare = _ORDER[op]
        return lambda message: compare(getattr(message, self.name), wanted)


class Labels(Field):
    """A map: labels.KEY=VALUE, labels.KEY:VALUE, and labels.KEY:* or labels:KEY for existence."""

    operators = ("=", ":")

    def test(self, op: str, value: str, key: str | None) -> Predicate:
        if key is None:
            if op != ":":
                raise ValueError(f"write {self.name}.KEY=VALUE or {self.name}:KEY")
            return lambda message: value in getattr(message, self.name)
        if op == ":" and value == "*":
            return lambda message: key in getattr(message, self.name)
        return lambda message: getattr(message, self.name).get(key) == value


def parse_filter(text: str, fields: Mapping[str, Field], where: str = "filter") -> Predicate:
    """The predicate of a filter; an empty one matches everything.

    INVALID_ARGUMENT names the invalid or unsupported part, and what is supported.
    """
    if not text.strip():
        return lambda _message: True
    try:
        return _Parser(text, fields).parse()
    except ValueError as error:
        raise _refusal(where, text, str(error)) from None


def _refusal(where: str, text: str, problem: str) -> RpcError:
    return invalid_field(where, f"Invalid filter {text!r}: {problem}.")


class _Parser:
    """Recursive descent over AIP-160's grammar: expression, sequence, factor, term."""

    def __init__(self, text: str, fields: Mapping[str, Field]):
        self.fields, self.tokens = fields, _tokens(text)

    def parse(self) -> Predicate:
        predicate = self._expression()
        if self.tokens:
            raise ValueError(f"unexpected {self.tokens[0][1]!r}")
        return predicate

    def _expression(self) -> Predicate:
        """factor {[AND] factor}"""
        parts = [self._factor()]
        while self.tokens and not self._next(")"):
            self._take_keyword("AND")
            parts.append(self._factor())
        return lambda message: all(part(message) for part in parts)

    def _factor(self) -> Predicate:
        """term {OR term}"""
        parts = [self._term()]
        while self._take_keyword("OR"):
            parts.append(self._term())
        return lambda message: any(part(message) for part in parts)

    def _term(self) -> Predicate:
        """[NOT | -] (restriction | "(" expression ")")"""
        if self._take_keyword("NOT") or self._take("minus"):
            negated = self._term()
            return lambda message: not negated(message)
        if self._next("("):
            self.tokens.pop(0)
            inner = self._expression()
            if not self._next(")"):
                raise ValueError("a closing ) is missing")
            self.tokens.pop(0)
            return inner
        return self._restriction()

    def _restriction(self) -> Predicate:
        """field operator value"""
        path = self._take("text")
        if path is None or path in ("AND", "OR"):
            found = path or (self.tokens[0][1] if self.tokens else "the end")
            raise ValueError(f"expected a field, found {found!r}")
        name, _, key = path.partition(".")
        if key == "" and path.endswith("."):  # labels."a key"
            key = self._take("string")
            key = key and _unquote(key)
        known = f"supported are {', '.join(sorted(self.fields))}"
        if name not in self.fields:
            raise ValueError(f"the field {name!r} is not supported; {known}")
        field = self.fields[name]
        if key and not isinstance(field, Labels):
            raise ValueError(f"the field {path!r} is not supported; {known}")
        op = self._take("operator")
        if op is None or op in "()":
            raise ValueError(f"expected an operator after {path!r}")
        if op not in field.operators:
            supported = ", ".join(field.operators)
            raise ValueError(f"{name} does not support {op!r}; it supports {supported}")
        return field.test(op, self._value(path, op), key or None)

    def _value(self, path: str, op: str) -> str:
        if self._next_kind() == "string":
            return _unquote(self._take("string"))
        if self._next_kind() == "minus":
            raise ValueError(f"quote the value after {path}{op}")
        parts: list[str] = []
        # An unquoted RFC 3339 time has colons in it.
        while self._next_kind() == "text" or (parts and self._next(":")):
            parts.append(self.tokens.pop(0)[1])
            if self.tokens and self.tokens[0][2]:
                break
        if not parts:
            raise ValueError(f"expected a value after {path}{op}")
        return "".join(parts)

    def _next_kind(self) -> str | None:
        return self.tokens[0][0] if self.tokens else None

    def _next(self, text: str) -> bool:
        return bool(self.tokens) and self.tokens[0][:2] == ("operator", text)

    def _take(self, kind: str) -> str | None:
        return self.tokens.pop(0)[1] if self._next_kind() == kind else None

    def _take_keyword(self, word: str) -> bool:
        if self.tokens and self.tokens[0][:2] == ("text", word):
            self.tokens.pop(0)
            return True
        return False


def _tokens(text: str) -> list[tuple[str, str, bool]]:
    """(kind, text, whether a space precedes it)."""
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if not match:
            raise ValueError(f"cannot read {text[position:].strip()!r}")
        kind = match.lastgroup
        tokens.append((kind, match[kind], match.start(kind) > position))
        position = match.end()
    return tokens


def _unquote(string: str) -> str:
    return re.sub(r"\\(.)", r"\1", string[1:-1])
