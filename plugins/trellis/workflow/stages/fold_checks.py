"""Checks that there is enough of everything for the folds of a cross-validation."""

from collections.abc import Iterator, Mapping
from typing import Any

from trellis.workflow import labels
from trellis.workflow.contracts.table import Table
from trellis_contracts.folds import Folds
from trellis_contracts.tasks import classes_in
from trellis_contracts.withheld import quoted

FEW = 20
"""Groups below which intervals are coarse (trainer/metrics/groups.py)."""


def judge(
    row: Mapping[str, Any], table: Table, task: str, folds: Folds | None
) -> tuple[list[str], list[str]]:
    """Problems of the rows, and warnings; none without folds. row: the result of checks.sql."""
    if folds is None:
        return [], []
    count, grouped = folds.count, row.get("units_by_label") is not None
    units, by_class = _counts(row, task)
    what = f"group by split.by '{table.split_by.name}'" if grouped and table.split_by else "example"
    problems = []
    if units < count:
        problems.append(
            f"train.folds: there {_number(units, what)}, and {count} folds: take fewer folds"
        )
    elif labels.of(task).is_named:
        problems += _classes(by_class, what, count)
    warnings = []
    if grouped and count <= units < FEW:
        warnings.append(f"there {_number(units, what)}: intervals will be wide")
    return problems, warnings


def _counts(row: Mapping[str, Any], task: str) -> tuple[int, dict[str, int]]:
    """Groups, or examples, in all and by class; at least so many of each class, if a row has
    several.
    """
    by_class: dict[str, int] = {}
    if (groups := row.get("units_by_label")) is not None:
        for entry in groups:
            for name in classes_in(entry["label"] or "", task):
                by_class[name] = max(by_class.get(name, 0), entry["units"])
        return sum(entry["number"] for entry in row["values_by_split"]), by_class
    for entry in row["classes"]:
        for name in classes_in(entry["label"] or "", task):
            by_class[name] = by_class.get(name, 0) + entry["examples"]
    return sum(entry["examples"] for entry in row["splits"]), by_class


def _classes(by_class: Mapping[str, int], what: str, count: int) -> Iterator[str]:
    for name, number in sorted(by_class.items()):
        if number < count:
            which = quoted(f"class {name!r}", "one class")
            yield (
                f"train.folds: of {which} there {_number(number, what)}, and {count} folds: take "
                "fewer folds, leave the class out, or get more of it"
            )


def _number(count: int, what: str) -> str:
    if count == 1:
        return f"is 1 {what}"
    noun, _, rest = what.partition(" ")
    return f"are {count:,} {noun}s{' ' if rest else ''}{rest}"
