"""YAML with line numbers, and without YAML 1.1's traps.

PyYAML reads `1e-4` as text and lets a second key of the same name silently win. A researcher's file
needs `1e-4`, and a key that is written twice is a mistake.
"""

import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import yaml

from trellis.workflow.spec.problems import Field, FileError, Problem

MODELINE = "yaml-language-server:"
"""How the comment begins that names a file's schema to an editor."""

# The C parser where it is there: parsing a hundred files with the Python one takes a second.
_Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc, valid-type]
    pass


# Numbers as in YAML 1.2 (https://yaml.org/spec/1.2.2/#1032-tag-resolution): `1e-4` is one.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


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
        """The same problems with their lines."""
        return FileError(
            self.name, [Problem(p.field, p.message, self.line(p.field)) for p in problems]
        )


def parse(name: str, text: str) -> Document:
    """Read the YAML mapping in `text`. Raises FileError under the file's `name`."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise FileError(name, [Problem((), f"not YAML: {error.problem}", line)]) from None
    if not isinstance(node, yaml.MappingNode):
        raise FileError(name, [Problem((), "expected `key: value` lines", 1)])
    document = Document(name, {}, _leading_comment(text))
    problems: list[Problem] = []
    document.values = _value(loader, node, (), document.lines, problems)
    if problems:
        raise FileError(name, problems)
    return document


def _value(
    loader: Any, node: yaml.Node, where: Field, lines: dict[Field, int], problems: list[Problem]
) -> Any:
    if isinstance(node, yaml.MappingNode):
        found: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                problems.append(Problem(where, "a key must be a single word", line))
                continue
            key = loader.construct_object(key_node)
            inner = (*where, key)
            if key in found:
                first = lines[inner]
                problems.append(Problem(inner, f"written twice, first on line {first}", line))
            lines[inner] = line
            found[key] = _value(loader, value_node, inner, lines, problems)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [
            _value(loader, item, (*where, n), lines, problems) for n, item in enumerate(node.value)
        ]
    return loader.construct_object(node, deep=True)


def _leading_comment(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        comment = line.lstrip("#").strip()
        if not comment.startswith(MODELINE):
            lines.append(comment)
    return "\n".join(lines)
