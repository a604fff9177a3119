"""Creation and modification times of a table's partitions, stored beside its rows.

A partition's time changes only with its own rows, not with rows of other partitions, the table's
schema or its options. An UPDATE or MERGE that writes the same values is no change here; BigQuery
may count it as one.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator

import duckdb

from .catalog import TableRecord, now_ms
from .database import literal, quoted
from .errors import invalid
from .partitions import partition_id_sql
from .schema import Field

SUMMARY = "__PARTITIONS_SUMMARY__"
"""Decorator of the table of partitions, `t$__PARTITIONS_SUMMARY__`."""

_NAMES = ("project_id", "dataset_id", "table_id", "partition_id")
SUMMARY_FIELDS = [Field(name, "STRING") for name in _NAMES]
SUMMARY_FIELDS += [Field("creation_time", "INT64"), Field("last_modified_time", "INT64")]


@dataclasses.dataclass(frozen=True)
class Times:
    """Milliseconds since 1970."""

    created: int
    modified: int


def times(cursor: duckdb.DuckDBPyConnection, record: TableRecord) -> dict[str, Times]:
    """Times by partition id; none for a partition that never had rows."""
    rows = cursor.execute(
        'SELECT "partition", created, modified FROM catalog.partitions WHERE relation = ?',
        [record.relation],
    ).fetchall()
    return {name: Times(created, modified) for name, created, modified in rows}


def unknown(record: TableRecord) -> Times:
    """The times of a partition without stored times."""
    created = int(record.resource["creationTime"])
    return Times(created, created)


def touch(cursor: duckdb.DuckDBPyConnection, record: TableRecord, ids: Iterable[str]) -> None:
    """Set the modification time of partitions to now."""
    values = {"relation": record.relation, "ids": sorted(ids), "now": now_ms()}
    if not values["ids"]:
        return
    cursor.execute(
        "UPDATE catalog.partitions SET modified = $now "
        'WHERE relation = $relation AND list_contains($ids, "partition")',
        values,
    )
    cursor.execute(
        "INSERT INTO catalog.partitions SELECT $relation, id, $now, $now FROM unnest($ids) AS i(id)"
        ' WHERE id NOT IN (SELECT "partition" FROM catalog.partitions WHERE relation = $relation)',
        values,
    )


@contextlib.contextmanager
def appending(cursor: duckdb.DuckDBPyConnection, record: TableRecord) -> Iterator[set[str]]:
    """Records the partitions of the rows that the block adds, also in the set that it yields."""
    found: set[str] = set()
    if record.partitioning is None:
        yield found
        return
    query = f"SELECT coalesce(max(rowid), -1) FROM {record.sql}"
    ((last,),) = cursor.execute(query).fetchall()
    yield found
    rows = cursor.execute(
        f"SELECT DISTINCT {partition_id_sql(record)} FROM {record.sql} WHERE rowid > {last}"
    ).fetchall()
    found |= {row[0] for row in rows}
    touch(cursor, record, found)


@contextlib.contextmanager
def changing(cursor: duckdb.DuckDBPyConnection, record: TableRecord) -> Iterator[None]:
    """Records the partitions whose rows the block changes."""
    if record.partitioning is None:
        yield
        return
    before = _contents(cursor, record)
    yield
    touch(cursor, record, {name for name, _ in before ^ _contents(cursor, record)})


def _contents(cursor: duckdb.DuckDBPyConnection, record: TableRecord) -> set[tuple[str, tuple]]:
    """(id, checksum of the rows, in any order) of each partition."""
    columns = ", ".join(quoted(field.name) for field in record.fields) or "0"
    rows = cursor.execute(
        f"SELECT {partition_id_sql(record)}, count(*), sum(hash({columns})) FROM {record.sql} "
        "GROUP BY 1"
    ).fetchall()
    return {(row[0], row[1:]) for row in rows}


def summary_sql(record: TableRecord) -> str:
    """DuckDB query for `t$__PARTITIONS_SUMMARY__`, with columns SUMMARY_FIELDS."""
    if record.partitioning is None:
        raise invalid(
            "Cannot read partition information from a table that is not partitioned: "
            f"{record.ref.whole}"
        )
    names = (record.ref.project, record.ref.dataset, record.ref.whole.table)
    shown = [f"{literal(value)} AS {name}" for value, name in zip(names, _NAMES[:3], strict=True)]
    other = unknown(record).created
    assert record.relation
    return (
        f"SELECT {', '.join(shown)}, p.id AS partition_id, "
        f"coalesce(t.created, {other}) AS creation_time, "
        f"coalesce(t.modified, {other}) AS last_modified_time "
        f"FROM (SELECT DISTINCT {partition_id_sql(record)} AS id FROM {record.sql}) AS p "
        "LEFT JOIN catalog.partitions AS t "
        f'ON t.relation = {literal(record.relation)} AND t."partition" = p.id ORDER BY p.id'
    )
