"""Counts a table's rows and dates its changes: from metadata where they say it, else by a query.

BigQuery's metadata of a table (`numRows`, the rows of its partitions) leave out the rows that were
streamed lately and are in the streaming buffer, though every query sees them:
https://cloud.google.com/bigquery/docs/streaming-data-into-bigquery#dataavailability
A `SELECT COUNT(*)` reads no column, and costs nothing.
"""

from typing import Any

from google.api_core import exceptions

from trellis.bigquery.outcome import QUOTES_NOTHING, may_pass, message
from trellis.workflow import sql
from trellis.workflow.contracts.errors import NoRowsError, SourceError
from trellis.workflow.contracts.interval import Partition


def answer(client: Any, statement: str, configuration: Any = None) -> Any:
    """The rows that a query gives.

    Raises SourceError if it fails by what it reads, which BigQuery's message may quote.
    """
    try:
        return client.query(statement, job_config=configuration).result()
    except exceptions.BadRequest as error:
        first = next(iter(error.errors or ()), {"message": str(error)})
        if may_pass(error) or first.get("reason") in QUOTES_NOTHING:
            raise
        raise SourceError(f"The source cannot be read. {message(first)}") from None


def rows_of(client: Any, known: Any) -> int:
    """Rows of a table. known: google.cloud.bigquery.Table."""
    if known.streaming_buffer is None:
        return int(known.num_rows or 0)
    name = f"{known.project}.{known.dataset_id}.{known.table_id}"
    (row,) = answer(client, f"SELECT COUNT(*) AS examples FROM {sql.identifier(name)}")
    return int(row["examples"])


def partitions(client: Any, known: Any, partition: Partition | None) -> list[dict] | None:
    """The table's partitions that the run reads: {"id", "rows", "changed"}.

    None if it has none, or if rows in the streaming buffer may belong to them. Raises NoRowsError.
    """
    if known is None or partition is None or known.time_partitioning is None:
        return None
    if (known.time_partitioning.field or "").lower() != partition.column.lower():
        return None
    if known.streaming_buffer is not None:
        return None
    dataset = f"{known.project}.{known.dataset_id}"
    statement = sql.render("partitions", dataset=dataset, table=known.table_id)
    found = [
        {
            "id": row["partition_id"],
            "rows": int(row["total_rows"] or 0),
            "changed": row["last_modified_time"].isoformat(),
        }
        for row in answer(client, statement)
    ]
    inside = [part for part in found if partition.covers(part["id"])]
    if not sum(part["rows"] for part in inside):
        ids = [part["id"] for part in found if part["rows"]]
        there = f"it has partitions {ids[0]} to {ids[-1]}" if ids else "it has no rows at all"
        raise NoRowsError(_nothing(known.full_table_id.replace(":", "."), partition, there))
    return inside


def count(
    client: Any,
    name: str,
    known: Any,
    source: str,
    partition: Partition | None,
    parts: list[dict] | None,
) -> int | None:
    """Count the rows that the run reads; None if only reading them would tell. Raises
    NoRowsError.
    """
    if known is None:
        return None
    if partition is None:
        return rows_of(client, known) if known.table_type == "TABLE" else None
    if parts is not None and partition.type == "DATE" and all(len(p["id"]) == 8 for p in parts):
        return sum(part["rows"] for part in parts)
    statement = sql.render("count", source=source, partition=partition)
    (row,) = answer(client, statement)
    if not row["examples"]:
        there = f"there are {row['first_moment']} to {row['last_moment']}"
        raise NoRowsError(
            _nothing(name, partition, there if row["first_moment"] else "it is empty")
        )
    return int(row["examples"])


def versions(client: Any, job: Any, known: Any) -> list[dict[str, Any]]:
    """The time of the last change, and the rows, of each table that a statement reads.

    job: of its dry run. Raises SourceError for a table of files elsewhere, whose metadata do not
    change with them.
    """
    found = []
    names = {f"{t.project}.{t.dataset_id}.{t.table_id}" for t in job.referenced_tables}
    if known is not None:
        names.add(f"{known.project}.{known.dataset_id}.{known.table_id}")
    for name in sorted(names):
        read = client.get_table(name)
        if read.table_type == "EXTERNAL":
            raise SourceError(
                f"{name} is an external table: its rows are in files elsewhere, and nothing that "
                "BigQuery knows of it says when these change, so a run could take an older dataset "
                "for theirs. Load the files into a table (`CREATE TABLE ... AS SELECT`, or "
                "`trellis upload`), and name that"
            )
        changed = read.modified.isoformat() if read.modified else None
        rows = rows_of(client, read) if read.table_type == "TABLE" else read.num_rows
        found.append({"table": name, "changed": changed, "rows": rows})
    return found


def _nothing(name: str, partition: Partition, there: str) -> str:
    return (
        f"{name} has no rows with {partition}: {there}. A run takes the rows of its data interval; "
        "choose others with `from` and `to`, or leave the logical date empty to take all."
    )
