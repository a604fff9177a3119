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


UNREAD = r"(?i)\.(dcm|dicom|tiff?)$"
"""Addresses of files that our export reads, and AutoML's training does not. What a file without
such an end holds, the export alone finds, which is paid for.
https://cloud.google.com/vertex-ai/docs/image-data/classification/prepare-data"""


def of_automl(row: Mapping[str, Any]) -> list[str]:
    """Problems of images that AutoML could not read. row: the result of checks.sql."""
    count = row.get("unread_by_automl")
    if not count:
        return []
    such = quoted(f", such as {row['an_image_unread_by_automl']}", "")
    return [
        f"AutoML learns from JPEG, PNG, GIF, BMP and ICO, and {count:,} of {row['examples']:,} "
        f"images are DICOM or TIFF by their names' ends{such}, as no file is read before the "
        "export; leave `baselines.automl` out"
    ]


def _value(address: str | None) -> str:
    return "NULL" if address is None else repr(address[:200])
