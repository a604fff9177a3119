"""What a check says of a snapshot's groups: rows that stay together, as those of a patient."""

from collections.abc import Mapping
from typing import Any

from trellis.workflow.contracts.table import Table

LEAST = 2
"""Groups of a split without which nothing can be said of other groups."""

FEW = 20
"""Groups of the test split below which intervals are coarse (trainer/comparison/groups.py)."""


def judge(row: Mapping[str, Any], table: Table) -> tuple[list[str], list[str]]:
    """Problems of the groups, and warnings; none where the key decides an example's split.

    `row`: the result of checks.sql.
    """
    if table.split_by is None:
        return [], []
    title = f"split.by '{table.split_by.name}'"
    problems, warnings = [], []
    if missing := row["split_by_missing"]:
        shown = ", ".join(repr(key) for key in row["split_by_missing_keys"])
        rows = f"{missing:,} row{'s' * (missing > 1)}"
        problems.append(
            f"{title} is NULL in {rows}, as at the keys {shown}: give each of them a group of its "
            "own in a query, or leave them out"
        )
    for entry in row["groups_by_split"]:
        split, number = entry["split"], entry["number"]
        if number < LEAST:
            problems.append(
                f"the {split} split has {number} group by {title}, and needs {LEAST}: take more "
                "groups, or give that split a larger share"
            )
        elif split == "test" and number < FEW:
            warnings.append(
                f"the test split has only {number} groups by {title}: intervals will be wide"
            )
    return problems, warnings
