"""Bytes that BigQuery may bill a run's queries for: the price of each, and its maximumBytesBilled.

A query beyond its limit fails before it reads, and is not billed.
https://cloud.google.com/bigquery/docs/best-practices-costs#restrict-bytes-billed
"""

LEAST = 10 * 2**20
"""Bytes that a query is billed for at least, for each table that it names.
https://cloud.google.com/bigquery/pricing#on_demand_pricing"""

CHECK = 3
"""Reads of the snapshot by the query of the task check, which reads keys and labels repeatedly."""

BASELINE = 3
"""Reads of the snapshot by a baseline in BigQuery: by BigQuery ML to learn, to predict and to
evaluate; by AutoML to learn and to predict, and by the export of what it predicts.

AutoML reads views, by queries of its own. Google's page of prices names its hours alone, and not
what such queries cost (https://cloud.google.com/vertex-ai/pricing#automl_models): so they count.
"""

# Bytes of a row that the snapshot has beside the source's columns: key, split and what decides it,
# as text.
_ROW = 64

# A table that is written to grows between the plan and the snapshot.
_GROWTH = 1.1


def planned(dry_run: int, tables: int, rows: int | None) -> int:
    """The bytes that a query of the run may be billed for: on the source, or on its frozen rows.

    dry_run: bytes that BigQuery says the statement reads, of so many tables. rows: None if only
    reading them would tell.
    """
    frozen = 2 * dry_run if rows is None else dry_run + _ROW * rows
    return int(max(frozen * _GROWTH, LEAST * max(tables, 1)))


def limit(planned_bytes: int | None, reads: int = 1) -> dict[str, str]:
    """The field of a query job that limits it to so many reads; none of a plan without bytes."""
    if planned_bytes is None:
        return {}
    return {"maximumBytesBilled": str(reads * max(planned_bytes, LEAST))}
