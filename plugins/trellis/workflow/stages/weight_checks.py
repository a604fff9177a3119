"""The part of the task check that judges the rows' weights."""

from collections.abc import Mapping
from typing import Any

from trellis.workflow.contracts.table import Table
from trellis.workflow.spec.quantities import rows_text
from trellis_contracts.withheld import at_keys, quoted

AUTOML_LARGEST = 10_000
"""AutoML's largest weight: weight_column_name of
https://cloud.google.com/vertex-ai/docs/reference/rest/v1/AutoMlTablesInputs"""

# Forbidden weights: in the result of checks.sql, and in words.
_BAD = {
    "missing": "NULL",
    "not_a_number": "NaN",
    "infinite": "infinite",
    "negative": "negative",
}


def judge(row: Mapping[str, Any], table: Table, automl: bool) -> list[str]:
    """Problems of the weights. row: the result of checks.sql. automl: whether AutoML gets them."""
    if table.weight is None:
        return []
    found, title = row["weights"], f"weight '{table.weight.name}'"
    bad = [f"{what} in {rows_text(found[name])}" for name, what in _BAD.items() if found[name]]
    if bad:
        keys = at_keys(row["weights_bad_keys"])
        return [
            f"{title} is {', '.join(bad)}{keys}: give these rows a weight of 0 or more in a query, "
            "or leave them out"
        ]
    problems = [
        f"{title} is 0 in all {entry['examples']:,} rows of the {entry['split']} split: no row of "
        "it would count"
        for entry in row["weights_zero"]
    ]
    largest = found["largest"] or 0
    if automl and largest > AUTOML_LARGEST:
        problems.append(
            f"{title} is {quoted(f'up to {largest:,g}', 'larger')}, and AutoML takes at most "
            f"{AUTOML_LARGEST:,}: divide it in a query (only ratios matter), or leave "
            "baselines.automl out"
        )
    return problems
