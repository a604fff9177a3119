"""Checks a snapshot's split where something else than the keys decides it."""

from collections.abc import Iterator, Mapping
from typing import Any

from trellis.workflow.contracts.table import Table
from trellis.workflow.spec.quantities import rows_text
from trellis.workflow.spec.split import ColumnSplit, GroupSplit
from trellis_contracts.withheld import at_keys, quoted

LEAST = 2
"""Groups of a split without which nothing can be said of other groups."""

FEW = 20
"""Groups of the test split below which intervals are coarse (trainer/metrics/groups.py)."""


def judge(
    row: Mapping[str, Any], table: Table, split: Any, folds: bool = False
) -> tuple[list[str], list[str]]:
    """Problems of the split, and warnings; none where the key decides.

    `row`: the result of checks.sql. `split`: the file's rule. `folds`: whether they are of a
    cross-validation, all of whose groups are tested.
    """
    if table.split_by is None:
        return [], []
    title = f"split.{split.opening[0]} '{table.split_by.name}'"
    problems = list(_unassigned(row["unassigned"], title, split))
    warnings = []
    for entry in row["values_by_split"] if isinstance(split, GroupSplit) and not folds else ():
        name, number = entry["split"], entry["number"]
        if number < LEAST:
            problems.append(
                f"the {name} split has {number} group by {title}, and needs {LEAST}: take more "
                "groups, or give that split a larger share"
            )
        elif name == "test" and number < FEW:
            warnings.append(
                f"the test split has only {number} groups by {title}: intervals will be wide"
            )
    return problems, warnings


def _unassigned(found: Any, title: str, split: Any) -> Iterator[str]:
    """One message for each value with which rows belong to no split."""
    for entry in found:
        value, count = entry["value"], entry["examples"]
        is_ = "NULL" if value is None else quoted(repr(value), "another value")
        rows = rows_text(count)
        remedy = "leave them out in a query"
        if isinstance(split, GroupSplit):
            remedy = f"give each a group of its own, or {remedy}"
        elif isinstance(split, ColumnSplit) and value is not None:
            known = ", ".join(repr(text) for texts in split.names.texts.values() for text in texts)
            remedy = f"expected one of {known}; name it in split.names, or {remedy}"
        yield f"{title} is {is_} in {rows}{at_keys([entry['key']])}: {remedy}"
