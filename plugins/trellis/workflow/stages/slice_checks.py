"""The part of the task check that counts the slices which the test split is to be divided into."""

from collections.abc import Mapping
from typing import Any

from trellis.workflow.contracts.table import Table
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.sql import identifier
from trellis_contracts.slices import MOST_VALUES, SliceColumn, frozen_column


def counted(experiment: Experiment, table: Table) -> list[str]:
    """SQL of the slice that a row is in, a text, of each entry of the experiment's `slices`."""
    frozen = table.to_document()
    return [
        " || '|' || ".join(_part(one, frozen_column(frozen, one.column)) for one in entry.columns)
        for entry in experiment.slices
    ]


def _part(one: SliceColumn, frozen: str) -> str:
    column = identifier(frozen)
    value = f"CONCAT('=', CAST({column} AS STRING))"
    if one.edges:
        places = " + ".join(f"IF({column} >= {edge!r}, 1, 0)" for edge in one.edges)
        value = f"CAST({places} AS STRING)"
    return f"IF({column} IS NULL, '', {value})"


def judge(row: Mapping[str, Any], experiment: Experiment) -> list[str]:
    """Entries of `slices` that make too many. row: the result of checks.sql."""
    problems = []
    for n, (entry, found) in enumerate(zip(experiment.slices, row.get("slices", ()), strict=True)):
        if found > MOST_VALUES:
            names = " and ".join(f"'{name}'" for name in entry.names)
            advice = "group them in a query, or give a number edges, as in {age: [45, 60]}"
            problems.append(
                f"slices[{n}]: {names} would make {found:,} slices, at most {MOST_VALUES} can be "
                f"compared: {advice}"
            )
    return problems
