"""State that the parts of a translation share, and the context of an expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from sqlglot import exp

from local_gcp.bigquery.errors import BigQueryError, invalid_query, not_emulated
from local_gcp.bigquery.refs import TableRef

from .catalog import Catalog
from .parsing import parse, position_at, start_of
from .scopes import Scope
from .settings import Settings, Variable
from .translated import MlCall, Read
from .types import Type


@dataclass(frozen=True)
class Output:
    """A translated query; its columns are named c1, c2, ... unless it is the outermost one.

    `value_table`: SELECT AS STRUCT or AS VALUE, whose rows are values and not tuples.
    """

    sql: str
    names: tuple[str | None, ...]
    types: tuple[Type, ...]
    value_table: bool = False


@dataclass
class Job:
    """The state of one statement's translation."""

    text: str
    settings: Settings
    catalog: Catalog
    variables: Mapping[str, Variable]
    origin: tuple[int, int] = (1, 1)  # start of the text in its script
    reads: dict[TableRef, dict[str, None]] = field(default_factory=dict)
    ml_calls: list[MlCall] = field(default_factory=list)
    views: tuple[TableRef, ...] = ()  # views being expanded, to detect cycles
    positional: tuple[int, ...] = ()  # offsets of the ? in the text
    _names: count = field(default_factory=lambda: count(1))

    def alias(self) -> str:
        """A unique name."""
        return f"t{next(self._names)}"

    def read(self, table: TableRef, column: str | None = None) -> None:
        """Record that the statement reads a table, and a column of it."""
        columns = self.reads.setdefault(table, {})
        if column is not None:
            columns[column] = None

    @property
    def read_list(self) -> tuple[Read, ...]:
        """The tables read."""
        return tuple(Read(table, tuple(columns)) for table, columns in self.reads.items())

    def position(self, node: exp.Expression | int | None) -> tuple[int, int] | None:
        """(line, column) of a node in the script; None if unknown."""
        offset = node if isinstance(node, int) or node is None else start_of(node)
        if offset is None:
            return None
        line, column = position_at(self.text, offset)
        first_line, first_column = self.origin
        return line + first_line - 1, column + (first_column - 1 if line == 1 else 0)


@dataclass(frozen=True)
class Context:
    """The context of an expression.

    `ctes`: queries of WITH by lower-case name: (DuckDB name, output).
    `grouped`: SQL of the grouping keys in an aggregating SELECT, else None.
    `keys`: the syntax classes of those keys, which limit the comparisons of nodes.
    `no_aggregates`: the clause, if aggregate functions are not allowed in it, else "".
    `no_windows`: the same for analytic functions.
    `windows`: the named windows of the SELECT.
    """

    job: Job
    scope: Scope
    ctes: Mapping[str, tuple[str, Output]] = field(default_factory=dict)
    grouped: frozenset[str] | None = None
    keys: frozenset[type] = frozenset()
    no_aggregates: str = ""
    no_windows: str = ""
    windows: Mapping[str, exp.Expression] = field(default_factory=dict)

    def inside(self, **changes: Any) -> Context:
        """A copy of the context with changes."""
        return replace(self, **changes)

    def error(self, message: str, node: exp.Expression | int | None) -> BigQueryError:
        """invalidQuery, with the position of a node."""
        return invalid_query(message, self.job.position(node))

    def not_emulated(self, what: str, node: exp.Expression | None = None) -> BigQueryError:
        """notImplemented, with a construct and its position."""
        where = self.job.position(node) if node is not None else None
        return not_emulated(f"{what} (at [{where[0]}:{where[1]}])" if where else what)


def parse_into(job: Job, text: str, before: int = 0) -> exp.Expression:
    """The text's syntax tree, with positions in the script.

    `before`: number of characters that were put before the script's text at `job.origin`.
    """
    line, column = job.origin
    padding = "\n" * (line - 1) + " " * max(column - 1 - before, 0)
    tree = parse(padding + text, whole=not before)
    job.text, job.origin = padding + text, (1, 1)
    places = {start_of(n) for n in tree.find_all(exp.Placeholder)}
    job.positional = tuple(sorted(p for p in places if p is not None))
    return tree
