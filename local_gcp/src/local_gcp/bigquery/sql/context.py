"""What the parts of a translation share: one statement's state, and where in it we are."""

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
    """A translated query: columns are called c1, c2, ... unless it is the outermost one.

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
    origin: tuple[int, int] = (1, 1)  # where the text begins in its script
    reads: dict[TableRef, dict[str, None]] = field(default_factory=dict)
    ml_calls: list[MlCall] = field(default_factory=list)
    views: tuple[TableRef, ...] = ()  # those being expanded, to find cycles
    positional: tuple[int, ...] = ()  # offsets of the ? in the text
    _names: count = field(default_factory=lambda: count(1))

    def alias(self) -> str:
        """A name that nothing else has."""
        return f"t{next(self._names)}"

    def read(self, table: TableRef, column: str | None = None) -> None:
        """Note that the statement reads a table, and a column of it."""
        columns = self.reads.setdefault(table, {})
        if column is not None:
            columns[column] = None

    @property
    def read_list(self) -> tuple[Read, ...]:
        """The tables read."""
        return tuple(Read(table, tuple(columns)) for table, columns in self.reads.items())

    def position(self, node: exp.Expression | int | None) -> tuple[int, int] | None:
        """(line, column) of a node in the script; None when it is not known."""
        offset = node if isinstance(node, int) or node is None else start_of(node)
        if offset is None:
            return None
        line, column = position_at(self.text, offset)
        first_line, first_column = self.origin
        return line + first_line - 1, column + (first_column - 1 if line == 1 else 0)


@dataclass(frozen=True)
class Context:
    """Where an expression stands.

    `ctes`: queries by name (lower case) that FROM can name: (DuckDB name, output).
    `grouped`: SQL of the grouping keys in an aggregating SELECT, else None.
    `keys`: the syntax classes of those keys, so that few nodes are compared.
    `no_aggregates`: the clause in which aggregate functions must not be, else "".
    `no_windows`: likewise for analytic functions.
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
        """The context with some things changed."""
        return replace(self, **changes)

    def error(self, message: str, node: exp.Expression | int | None) -> BigQueryError:
        """invalidQuery, pointing at a node."""
        return invalid_query(message, self.job.position(node))

    def not_emulated(self, what: str, node: exp.Expression | None = None) -> BigQueryError:
        """notImplemented, naming a construct and where it stands."""
        where = self.job.position(node) if node is not None else None
        return not_emulated(f"{what} (at [{where[0]}:{where[1]}])" if where else what)


def parse_into(job: Job, text: str, before: int = 0) -> exp.Expression:
    """The text's tree; positions are those in the script.

    `before`: how many characters we have put in front of what the script has at `job.origin`.
    """
    line, column = job.origin
    padding = "\n" * (line - 1) + " " * max(column - 1 - before, 0)
    tree = parse(padding + text, whole=not before)
    job.text, job.origin = padding + text, (1, 1)
    places = {start_of(n) for n in tree.find_all(exp.Placeholder)}
    job.positional = tuple(sorted(p for p in places if p is not None))
    return tree
