"""Slices: parts of the test split by values of columns, each of which is scored alone.

An experiment file lists what to divide by:

    slices:
      - site                                  a slice for each value
      - age: [45, 60]                         below 45, 45 to below 60, 60 and above
      - [sex, {age: [60]}]                    each pair of both

A row without a value is in a slice of its own, "missing". Airflow's side counts the values before
anything is trained; the comparison divides the test split.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, Self

MOST_VALUES = 50
"""Slices that one entry of the list may make; a column with more values is an identifier."""

MOST_ENTRIES = 20

FEW = 10
"""With fewer examples, a slice is shown and not judged."""

MISSING = "missing"


@dataclass(frozen=True)
class SliceColumn:
    """A column to divide by. edges: rising numbers between bins; none: each value is a slice."""

    column: str
    edges: tuple[float, ...] = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From the experiment file. Raises ValueError."""
        if isinstance(value, str) and value:
            return cls(value)
        if not isinstance(value, Mapping) or len(value) != 1:
            raise ValueError(f"got {value!r}")
        ((column, edges),) = value.items()
        if not isinstance(column, str) or not column:
            raise ValueError(f"got {column!r} as a column")
        if not isinstance(edges, list | tuple) or not all(map(_is_number, edges)):
            raise ValueError(f"got {edges!r} as edges of '{column}'")
        if not 1 <= len(edges) < MOST_VALUES:
            raise ValueError(f"got {len(edges)} edges of '{column}', 1 to {MOST_VALUES - 1} can be")
        if any(low >= high for low, high in itertools.pairwise(edges)):
            raise ValueError(f"the edges of '{column}' do not rise")
        return cls(column, tuple(edges))

    def to_document(self) -> Any:
        """The column as the experiment file has it."""
        return {self.column: list(self.edges)} if self.edges else self.column

    def part(self, value: Any) -> str:
        """The words for the slice of a value: the value itself, or its bin."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return MISSING
        if not self.edges:
            return _text(value)
        place = sum(value >= edge for edge in self.edges)
        if place == 0:
            return f"below {self.edges[0]:.12g}"
        if place == len(self.edges):
            return f"{self.edges[-1]:.12g} and above"
        return f"{self.edges[place - 1]:.12g} to below {self.edges[place]:.12g}"


@dataclass(frozen=True)
class SliceBy:
    """An entry of the list: one column, or two of which each pair of values is a slice."""

    columns: tuple[SliceColumn, ...]

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From the experiment file. Raises ValueError."""
        if not isinstance(value, list | tuple):
            return cls((SliceColumn.parse(value),))
        if len(value) != 2:
            raise ValueError(f"got {len(value)} in brackets")
        return cls(tuple(map(SliceColumn.parse, value)))

    def to_document(self) -> Any:
        """The entry as the experiment file has it."""
        documents = [column.to_document() for column in self.columns]
        return documents[0] if len(documents) == 1 else documents

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names in the source."""
        return tuple(column.column for column in self.columns)

    def name(self, values: tuple[Any, ...]) -> str:
        """The slice of an example with these values: "site = C", "sex = f and site = C"."""
        parts = zip(self.columns, values, strict=True)
        return " and ".join(f"{one.column} = {one.part(value)}" for one, value in parts)


def frozen_column(table: Mapping[str, Any], name: str) -> str:
    """The column of the frozen rows that has a column of the source, whose case does not count.

    table: as plan.json has it. Raises KeyError if the rows do not have it.
    """
    label = {"name": table["label"]["name"], "column": "label"}
    # A column that is kept is as in the source; a feature or label may have become text.
    for one in (*table["kept"], *table["features"], label):
        if one["name"].lower() == name.lower():
            return str(one["column"])
    raise KeyError(name)


def _is_number(value: Any) -> bool:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and math.isfinite(value)


def _text(value: Any) -> str:
    """A value as SQL and a person would write it; the empty text in quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    if isinstance(value, datetime):
        midnight = value.time() == time()
        return value.date().isoformat() if midnight else f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, date):
        return value.isoformat()
    return str(value) or "''"
