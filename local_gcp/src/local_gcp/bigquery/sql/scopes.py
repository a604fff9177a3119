"""Scopes of names: the relations of a FROM clause and their columns."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from local_gcp.bigquery.refs import TableRef

from .types import Type, Value


@dataclass(frozen=True)
class Column:
    """A column that a query can name. `table`: the table that stores it, if any."""

    name: str
    type: Type
    sql: str
    table: TableRef | None = None

    @property
    def value(self) -> Value:
        """The column as an expression."""
        return Value(self.sql, self.type)


@dataclass(frozen=True)
class Relation:
    """An item of FROM under its alias.

    `hidden`: pseudo columns, which `*` leaves out (_PARTITIONTIME).
    `value`: the value of the alias itself if rows are values (UNNEST).
    """

    name: str | None
    columns: tuple[Column, ...]
    hidden: tuple[Column, ...] = ()
    value: Column | None = None

    @cached_property
    def by_name(self) -> dict[str, list[Column]]:
        """Columns by lower-case name; an index, since a table may have thousands."""
        found: dict[str, list[Column]] = {}
        for column in (*self.columns, *self.hidden):
            found.setdefault(column.name.lower(), []).append(column)
        return found


@dataclass
class Scope:
    """The relations of a SELECT, and those of the outer query.

    `merged`: columns of JOIN ... USING, which stand for both sides' columns.
    """

    relations: list[Relation] = field(default_factory=list)
    parent: Scope | None = None
    merged: list[Column] = field(default_factory=list)

    def relation(self, name: str) -> Relation | None:
        """The relation with this alias in this scope only."""
        name = name.lower()
        return next((r for r in self.relations if r.name and r.name.lower() == name), None)

    def columns(self, name: str) -> list[Column]:
        """All columns with this name in this scope only; a merged column hides its parts."""
        name = name.lower()
        merged = [c for c in self.merged if c.name.lower() == name]
        if merged:
            return merged[-1:]
        return [c for r in self.relations for c in r.by_name.get(name, ())]

    def visible(self) -> Iterator[Column]:
        """The columns of `*`."""
        hidden = {c.name.lower() for c in self.merged}
        yield from self.merged
        for relation in self.relations:
            for column in relation.columns:
                if column.name.lower() not in hidden:
                    yield column

    def names(self) -> Iterator[str]:
        """All names in scope, for suggestions."""
        for relation in self.relations:
            if relation.name:
                yield relation.name
            yield from (c.name for c in relation.columns)
        if self.parent:
            yield from self.parent.names()

    def suggestion(self, name: str) -> str:
        """`; Did you mean y?`, or nothing."""
        known = {n.lower(): n for n in self.names()}
        close = difflib.get_close_matches(name.lower(), known, 1, 0.7)
        return f"; Did you mean {known[close[0]]}?" if close else ""
