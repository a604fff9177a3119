"""YAML with line numbers, and without its traps.

libyaml reads the syntax, `yaml_scalars` the words. What a researcher's file has no use for is
refused with its line: tags, merge keys, several documents, a key that is written twice, characters
that are invisible. Names of keys are texts as they are written: a class is named `no`, `010` or
`1`.

PyYAML's own loader is not used: its C part ends the process at some thousand opening brackets. A
pure Python one for YAML 1.2 (ruamel.yaml) takes 7 ms a file instead of 0.5, and Airflow reads every
file again and again.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from trellis.workflow.spec import yaml_scalars
from trellis.workflow.spec.problems import Field, FileError, Problem

MODELINE = "yaml-language-server:"
"""Prefix of the comment that names a file's schema to an editor."""

# The C parser where it is there: parsing a hundred files with the Python one takes a second.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_MAX_BYTES = 1 << 20
_MAX_DEPTH = 32
_TOO_DEEP = f"more than {_MAX_DEPTH} sections in one another"
_MAX_VALUES = 20_000

# Neither control characters, nor line breaks of YAML 1.1 alone, nor marks of a byte order.
_UNSEEN = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
# They have no width, or turn the direction of the text: two names that look alike then differ. Not
# those that join letters and emoji (U+200C, U+200D).
_INVISIBLE = re.compile("[\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069]")
_SPACES = re.compile("[\xa0\u1680\u2000-\u200b\u202f\u205f\u3000]")


@dataclass
class Document:
    """A file's values, and the line (from 1) on which each of its fields stands."""

    name: str
    values: dict[str, Any]
    comment: str
    """The comment lines that the file starts with, without their #, and without a modeline."""
    lines: dict[Field, int] = field(default_factory=dict)

    def line(self, where: Field) -> int:
        """The line of a field, or of the section that it is missing from."""
        while where and where not in self.lines:
            where = where[:-1]
        return self.lines.get(where, 1)

    def error(self, problems: list[Problem]) -> FileError:
        """Return the problems with their lines, as one error."""
        return FileError(
            self.name, [Problem(p.field, p.message, self.line(p.field)) for p in problems]
        )


def read(path: Path, named_by: str = "") -> Document:
    """Read the YAML mapping in a file. Raises FileError, which says what named the file.

    named_by: an environment variable, say; "" if it is where such files are.
    """

    def refused(message: str, line: int | None = None) -> FileError:
        return FileError(str(path), [Problem((), message, line)])

    try:
        content = path.read_bytes()
    except OSError as error:
        named = f" ({named_by} names it)" if named_by else ""
        raise refused(f"cannot be read{named}: {error.strerror}") from None
    if len(content) > _MAX_BYTES:
        raise refused(f"has {len(content):,} bytes; expected up to 1 MiB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = _wide(content) or "no UTF-8"
        message = f"byte 0x{content[error.start]:02x}: the file is {found}; save it as UTF-8"
        raise refused(message, line) from None
    if "\0" in text and (wide := _wide(content)):
        raise refused(f"the file is {wide}; save it as UTF-8", 1)
    return parse(str(path), text)


def _wide(content: bytes) -> str | None:
    """Return UTF-16 or UTF-32 by the mark at the start, or by the zeros beside ASCII letters."""
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    zeros = content.count(0) / max(1, len(content))
    return "UTF-32" if zeros > 0.6 else "UTF-16" if zeros > 0.3 else None


def parse(name: str, text: str) -> Document:
    """Read the YAML mapping in `text`. Raises FileError under the file's `name`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if unseen := list(_unseen(text)):
        raise FileError(name, unseen)
    document = Document(name, {}, _leading_comment(text))
    reader = _Reader()
    try:
        document.values = reader.mapping(text)
    except _Refused as error:
        reader.problems.append(error.problem)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 1
        message = " ".join(str(part) for part in (error.context, error.problem) if part)
        place = f" at column {mark.column + 1}" if mark else ""
        hint = _quotes(text, mark) or _spaces(text, line)
        # From PyYAML 6.0.4 on its scanner, which reads ahead of us, has a limit of its own.
        deep = "nesting depth" in message
        said = _TOO_DEEP if deep else f"not YAML: {message}{place}{hint}"
        reader.problems.append(Problem((), said, line))
    if reader.problems:
        raise FileError(name, reader.problems)
    document.lines = reader.lines
    return document


class _Refused(Exception):  # noqa: N818
    """A problem so severe that the rest cannot be read."""

    def __init__(self, where: Field, message: str, line: int):
        self.problem = Problem(where, message, line)
        super().__init__(message)


@dataclass
class _Node:
    """One value of the syntax. content: a scalar's text, a sequence's nodes, or a mapping's pairs.

    plain: of a scalar, whether it is without quotes. values: how many values are in it.
    """

    content: str | list["_Node"] | list[tuple["_Node", "_Node"]]
    line: int
    mapping: bool = False
    plain: bool = False
    values: int = 1


class _Reader:
    """One reading of one text: its problems, and the lines of its fields."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.lines: dict[Field, int] = {}
        self._anchors: dict[str, _Node] = {}
        self._events: Iterator[yaml.Event] = iter(())
        self._text = ""

    def mapping(self, text: str) -> dict[str, Any]:
        """The values of the one mapping in `text`. Raises _Refused and yaml.MarkedYAMLError."""
        self._text = text
        self._events = yaml.parse(text, Loader=_LOADER)
        root: _Node | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                line = _line(event)
                if root is not None:
                    raise _Refused((), "a second document begins (---): expected one", line)
                if event.version and tuple(event.version) != (1, 2):
                    raise _Refused((), "is read as YAML 1.2: leave the line %YAML out", line)
                root = self._node(next(self._events), 0)
        if root is None or not root.mapping:
            raise _Refused((), "expected `key: value` lines", 1)
        return self._value(root, ())

    def _node(self, event: yaml.Event, depth: int) -> _Node:
        line = _line(event)
        anchor: str | None = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent):
            if (found := self._anchors.get(anchor or "")) is None:
                message = f"*{anchor}: no value before this one is marked &{anchor}"
                raise _Refused((), message, line)
            return found
        if depth > _MAX_DEPTH:
            raise _Refused((), _TOO_DEEP, line)
        tag = getattr(event, "tag", None)
        if tag is not None and not (tag == "!" and isinstance(event, yaml.ScalarEvent)):
            written = tag.replace("tag:yaml.org,2002:", "!!")
            message = f"the tag {written}: expected the value itself, in quotes if it is text"
            raise _Refused((), message, line)
        node = _Node("", line)
        if isinstance(event, yaml.ScalarEvent):
            node.content, node.plain = event.value, event.implicit[0] and tag is None
        elif isinstance(event, yaml.SequenceStartEvent):
            node.content = list(self._nodes(yaml.SequenceEndEvent, depth))
        else:
            inner = self._nodes(yaml.MappingEndEvent, depth)
            node.content, node.mapping = [(key, next(inner)) for key in inner], True
        node.values += sum(
            child.values
            for entry in (node.content if isinstance(node.content, list) else [])
            for child in (entry if isinstance(entry, tuple) else (entry,))
        )
        if node.values > _MAX_VALUES:
            raise _Refused((), f"more than {_MAX_VALUES:,} values, aliases counted", line)
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _nodes(self, end: type[yaml.Event], depth: int) -> Iterator[_Node]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield self._node(event, depth + 1)

    def _value(self, node: _Node, where: Field) -> Any:
        if len(where) > _MAX_DEPTH:
            raise _Refused(where[:3], _TOO_DEEP, node.line)
        if isinstance(node.content, str):
            return self._scalar(node, where)
        if not node.mapping:
            found = []
            for n, item in enumerate(node.content):
                assert isinstance(item, _Node)
                self.lines[(*where, n)] = item.line
                found.append(self._value(item, (*where, n)))
            return found
        values: dict[str, Any] = {}
        before: tuple[Field, _Node] | None = None
        for entry in node.content:
            assert isinstance(entry, tuple)
            key, value = entry
            if before and (number := _decimal_comma(before[1], key, value)):
                message = f"a decimal mark is a point: write {number}"
                self._problem(before[0], message, key.line)
                continue
            if (name := self._name(key, where)) is None:
                continue
            inner = (*where, name)
            if name in values:
                first = self.lines[inner]
                self._problem(inner, f"written twice, first on line {first}", key.line)
            self.lines[inner] = key.line
            values[name] = self._value(value, inner)
            before = inner, value
        return values

    def _name(self, key: _Node, where: Field) -> str | None:
        name = key.content
        if not isinstance(name, str) or not name:
            self._problem(where, "a key must be a single word", key.line)
        elif name == "<<" and key.plain:
            self._problem(where, "<<: YAML 1.2 merges no keys; write them out", key.line)
        else:
            self._check_seen(name, where, key.line)
            return name
        return None

    def _scalar(self, node: _Node, where: Field) -> Any:
        text = node.content
        assert isinstance(text, str)
        self._check_seen(text, where, node.line)
        if not node.plain:
            return text
        try:
            return yaml_scalars.value(text)
        except yaml_scalars.ScalarError as error:
            self._problem(where, str(error), node.line)
            return None

    def _check_seen(self, text: str, where: Field, line: int) -> None:
        """Escapes in double quotes make any character."""
        if found := _UNSEEN.search(text):
            self._problem(where, f"has {_named(found[0])}, which is invisible: remove it", line)
        elif (found := _INVISIBLE.search(text)) and found[0] in self._text:
            # An escape is visible.
            escape = f'"\\u{ord(found[0]):04x}"'
            message = f"has {_named(found[0])}, which is invisible: remove it, or write {escape}"
            self._problem(where, message, line)

    def _problem(self, where: Field, message: str, line: int) -> None:
        self.problems.append(Problem(where, message, line))


def _decimal_comma(whole: _Node, key: _Node, value: _Node) -> str | None:
    """0.5 of `{a: 0,5}`, which is a: 0 and a key 5 without a value."""
    parts = [part.content for part in (whole, key, value) if part.plain]
    if len(parts) < 3 or parts[2] or whole.line != key.line:
        return None
    written = f"{parts[0]}.{parts[1]}"
    return written if re.fullmatch(r"[-+]?\d+\.\d+(e[-+]?\d+)?", written, re.ASCII) else None


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _unseen(text: str) -> Iterator[Problem]:
    """Characters that YAML does not allow, or that its versions read differently, by line."""
    if not _UNSEEN.search(text):
        return
    for number, line in enumerate(text.split("\n"), 1):
        if found := _UNSEEN.search(line):
            place = f"{_named(found[0])} at column {found.start() + 1}"
            yield Problem((), f"{place}, pasted with other text? Remove it", number)


def _named(character: str) -> str:
    name = unicodedata.name(character, "a control character")
    return f"U+{ord(character):04X} ({name.lower()})"


def _quotes(text: str, mark: yaml.Mark | None) -> str:
    """A hint, where a value begins with a character that YAML reserves."""
    lines = text.split("\n")[mark.line : mark.line + 1] if mark else []
    found = lines[0][mark.column : mark.column + 1] if mark and lines else ""
    return f" ({found}): put the whole value in quotes" if found in tuple("`@%") else ""


def _spaces(text: str, line: int) -> str:
    """A hint, where something until a line that cannot be read is a space, but none for YAML."""
    for number, content in reversed(list(enumerate(text.split("\n")[:line], 1))):
        if found := _SPACES.search(content):
            place = f"{_named(found[0])}, line {number}, column {found.start() + 1}"
            return f"; {place}, is no space: write a plain one"
    return ""


def _leading_comment(text: str) -> str:
    lines = []
    for line in text.split("\n"):
        if not line.startswith("#"):
            break
        comment = line.lstrip("#").strip()
        if not comment.startswith(MODELINE):
            lines.append(comment)
    return "\n".join(lines)
