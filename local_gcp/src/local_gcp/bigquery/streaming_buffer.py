"""The streaming buffer: rows that were streamed recently, which BigQuery treats differently.

Queries and tabledata.list see them at once. The table's size does not include them, DML cannot
change them, and copies and extracts do not contain them yet.
https://cloud.google.com/bigquery/docs/data-manipulation-language#limitations

A streamed row is stored as a hash of its values, with the columns of that time; equal rows are
interchangeable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import duckdb

from .catalog import TableRecord, now_ms
from .database import quoted
from .errors import BigQueryError, invalid_query, not_emulated
from .sizes import size_sql

STAYS_MS = 30 * 60 * 1000
"""Time for which rows stay in the buffer; on Google Cloud up to 90 minutes for copies."""

_LIVE = "relation = $relation AND streamed > $since"


@contextlib.contextmanager
def noting(cursor: duckdb.DuckDBPyConnection, record: TableRecord) -> Iterator[None]:
    """Records the rows that the block adds as streamed now, and deletes expired records."""
    query = f"SELECT coalesce(max(rowid), -1) FROM {record.sql}"
    ((last,),) = cursor.execute(query).fetchall()
    yield
    now = now_ms()
    columns = ", ".join(quoted(field.name) for field in record.fields)
    size = " + ".join(size_sql(field, quoted(field.name)) for field in record.fields)
    cursor.execute("DELETE FROM catalog.streamed WHERE streamed <= ?", [now - STAYS_MS])
    cursor.execute(
        f"INSERT INTO catalog.streamed SELECT ?, ?, ?, hash({columns}), {size} "
        f"FROM {record.sql} WHERE rowid > {last}",
        [record.relation, now, columns],
    )


def forget(cursor: duckdb.DuckDBPyConnection, relation: str | None) -> None:
    """Delete the records of a table whose rows or columns were removed."""
    cursor.execute("DELETE FROM catalog.streamed WHERE relation = ?", [relation])


def resource(cursor: duckdb.DuckDBPyConnection, record: TableRecord) -> dict[str, Any] | None:
    """REST Streamingbuffer; None if it is empty."""
    rows, size, oldest = cursor.execute(
        f"SELECT count(*), sum(bytes), min(streamed) FROM catalog.streamed WHERE {_LIVE}",
        _values(record),
    ).fetchall()[0]
    if not rows:
        return None
    return {
        "estimatedRows": str(rows),
        "estimatedBytes": str(int(size)),
        "oldestEntryTime": str(oldest),
    }


def check_untouched(cursor: duckdb.DuckDBPyConnection, record: TableRecord, kind: str) -> None:
    """Raise BigQueryError if a DML statement changed streamed rows."""
    values = _values(record)
    groups = cursor.execute(
        f'SELECT DISTINCT "columns" FROM catalog.streamed WHERE {_LIVE}', values
    ).fetchall()
    for (columns,) in groups:
        lost = cursor.execute(
            f"SELECT 1 FROM (SELECT hash, count(*) AS n FROM catalog.streamed WHERE {_LIVE} "
            'AND "columns" = $columns GROUP BY 1) AS streamed LEFT JOIN '
            f"(SELECT hash({columns}) AS hash, count(*) AS n FROM {record.sql} GROUP BY 1) AS now "
            "USING (hash) WHERE now.n IS NULL OR now.n < streamed.n LIMIT 1",
            {**values, "columns": columns},
        ).fetchall()
        if lost:
            raise _affected(record, kind)


def refuse(cursor: duckdb.DuckDBPyConnection, record: TableRecord, what: str) -> None:
    """Raise BigQueryError for a copy or an extract that would lack rows."""
    buffer = resource(cursor, record)
    if buffer:
        raise not_emulated(
            f"{what} of a table with rows in the streaming buffer: {record.ref} has "
            f"{buffer['estimatedRows']}, which on Google Cloud become available for it within 90 "
            "minutes, and here 30 minutes after they were streamed"
        )


def _affected(record: TableRecord, kind: str) -> BigQueryError:
    what = "TRUNCATE DML" if kind == "TRUNCATE_TABLE" else "UPDATE or DELETE"
    table = ".".join(record.ref.api.values())
    return invalid_query(
        f"{what} statement over table {table} would affect rows in the streaming buffer, which is "
        "not supported"
    )


def _values(record: TableRecord) -> dict[str, Any]:
    return {"relation": record.relation, "since": now_ms() - STAYS_MS}
