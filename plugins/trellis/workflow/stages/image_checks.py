"""Finds rows without an image, or without a mask, before any is read; whether it is there, and what
it holds, the export finds.
"""

from collections.abc import Mapping
from typing import Any

from trellis_contracts.withheld import quoted


def of_rows(row: Mapping[str, Any], max_rejected: float) -> tuple[list[str], list[str]]:
    """Problems and warnings of rows without a usable address. row: the result of checks.sql.

    max_rejected: share of rows, 0 to 1, that the export may reject.
    """
    count, rows = row["rows_without_image"], row["examples"]
    if not count:
        return [], []
    shown = "; ".join(
        f"{found['feature']} of the key {found['key']!r} is {_value(found['value'])}"
        for found in row["no_addresses"]
    )
    found = f"{count:,} of {rows:,} rows have no address gs://BUCKET/OBJECT of an image or mask"
    found += quoted(f": {shown}", "")
    if count > max_rejected * rows:
        limit = f"more than source.max_rejected ({max_rejected:g}) allows"
        return [f"{found}; {limit}: leave these rows out in a query"], []
    return [], [f"{found}; the export rejects them"]


def _value(address: str | None) -> str:
    return "NULL" if address is None else repr(address[:200])
