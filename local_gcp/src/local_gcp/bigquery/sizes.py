"""Logical bytes, by which BigQuery bills, independent of the storage format.

https://cloud.google.com/bigquery/pricing#data: fixed sizes for numbers and times, 2 bytes and the
UTF-8 or raw length for strings and bytes, the sum of the elements for arrays and structs, nothing
for NULL.
"""

from __future__ import annotations

import dataclasses
import threading

import duckdb

from . import partitions
from .catalog import TableRecord
from .database import quoted
from .schema import Field

FIXED_BYTES = {"INT64": 8, "FLOAT64": 8, "NUMERIC": 16, "BOOL": 1}
FIXED_BYTES |= {"DATE": 8, "TIME": 8, "DATETIME": 8, "TIMESTAMP": 8}
_REMEMBERED = 1000
_TOGETHER = 500
"""Columns that are measured at once: the sums of 6,000 would fill DuckDB's memory."""

MEGABYTE = 1 << 20
LEAST_BILLED = 10 * MEGABYTE


@dataclasses.dataclass(frozen=True)
class PartitionSize:
    """Rows and bytes of a partition; an unpartitioned table has one, with the id ""."""

    id: str
    rows: int
    columns: dict[str, int]
    """Bytes by lower-case column name."""

    @property
    def bytes(self) -> int:
        return sum(self.columns.values())


def size_sql(field: Field, value: str, depth: int = 0) -> str:
    """DuckDB expression for the logical bytes of `value` (NULL is 0)."""
    if field.repeated:
        name = f"e{depth}"
        inner = size_sql(field.element, name, depth + 1)
        if field.type in FIXED_BYTES:
            return f"coalesce(len({value}), 0) * {FIXED_BYTES[field.type]}"
        return f"coalesce(list_sum(list_transform({value}, lambda {name}: {inner})), 0)"
    if field.type == "STRUCT":
        parts = [size_sql(f, f"{value}.{quoted(f.name)}", depth) for f in field.fields]
        return "(" + " + ".join(parts) + ")"
    if field.type in FIXED_BYTES:
        return f"CASE WHEN {value} IS NULL THEN 0 ELSE {FIXED_BYTES[field.type]} END"
    length = {"BYTES": "octet_length({})", "JSON": "strlen(CAST({} AS VARCHAR))"}
    text = length.get(field.type, "strlen({})").format(value)
    return f"coalesce(2 + {text}, 0)"


def _sum_sql(field: Field) -> str:
    column = quoted(field.name)
    if field.type in FIXED_BYTES and not field.repeated:
        return f"count({column}) * {FIXED_BYTES[field.type]}"
    return f"coalesce(sum({size_sql(field, column)}), 0)"


class Sizes:
    """Sizes of tables, cached until a table changes."""

    def __init__(self) -> None:
        self._known: dict[tuple, list[PartitionSize]] = {}
        self._guard = threading.Lock()

    def partitions(
        self, cursor: duckdb.DuckDBPyConnection, record: TableRecord
    ) -> list[PartitionSize]:
        """Sizes of the table's partitions, by id."""
        if record.view_query is not None:
            return []
        row = cursor.execute(f"SELECT count(*) FROM {record.sql}").fetchone()
        key = (record.relation, record.resource["lastModifiedTime"], row)
        with self._guard:
            known = self._known.get(key)
        if known is None:
            known = _measure(cursor, record)
            with self._guard:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                self._known[key] = known
        return known

    def rows(self, cursor: duckdb.DuckDBPyConnection, record: TableRecord) -> int:
        return sum(p.rows for p in self.partitions(cursor, record))

    def bytes(self, cursor: duckdb.DuckDBPyConnection, record: TableRecord) -> int:
        return sum(p.bytes for p in self.partitions(cursor, record))


def _measure(cursor: duckdb.DuckDBPyConnection, record: TableRecord) -> list[PartitionSize]:
    group = partitions.partition_id_sql(record) if record.partitioning else "''"
    found: dict[str, PartitionSize] = {}
    for first in range(0, max(1, len(record.fields)), _TOGETHER):
        fields = record.fields[first : first + _TOGETHER]
        names = [field.name.lower() for field in fields]
        sums = "".join(f", {_sum_sql(field)}" for field in fields)
        rows = cursor.execute(
            f"SELECT {group} AS id, count(*){sums} FROM {record.sql} GROUP BY 1 ORDER BY 1"
        ).fetchall()
        for id_, count, *values in rows:
            size = found.setdefault(id_, PartitionSize(id_, count, {}))
            size.columns.update(zip(names, map(int, values), strict=True))
    return list(found.values())


def billed(processed: int) -> int:
    """Bytes billed: whole megabytes, at least ten when anything is read."""
    if processed == 0:
        return 0
    return max(LEAST_BILLED, -(-processed // MEGABYTE) * MEGABYTE)
