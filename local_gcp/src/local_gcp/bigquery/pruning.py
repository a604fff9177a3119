"""Estimates the partitions that a statement reads, and so the bytes that BigQuery bills.

DuckDB's plan shows which conditions reach a table's scan; those on only the partitioning column
prune partitions. The plan is made over empty tables in memory, so that, as in BigQuery, neither
the data nor its statistics matter.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from .catalog import PARTITION_TIME, Catalog, TableRecord, column_definition
from .database import connect, literal, quoted
from .errors import BigQueryError, invalid_query
from .partitions import NULL_PARTITION, bounds, partition_column
from .refs import TableRef
from .sizes import PartitionSize, Sizes, billed
from .sql.translated import Translated

log = logging.getLogger(__name__)

_UNPRUNED = "statistics_propagation"


@dataclasses.dataclass(frozen=True)
class Estimate:
    """The partitions and bytes that a statement reads."""

    bytes: int
    partitions: int | None
    tables: tuple[TableRef, ...]

    @property
    def statistics(self) -> dict[str, Any]:
        """The estimate's fields of REST JobStatistics2."""
        found: dict[str, Any] = {
            "totalBytesProcessed": str(self.bytes),
            "totalBytesBilled": str(billed(self.bytes)),
            "totalBytesProcessedAccuracy": "PRECISE",
            "cacheHit": False,
            "referencedTables": [ref.api for ref in self.tables],
        }
        if self.partitions is not None:
            found["totalPartitionsProcessed"] = str(self.partitions)
        return found


class Estimator:
    """Estimates statements before they run."""

    def __init__(self, sizes: Sizes):
        self._sizes, self._planner = sizes, _Planner()

    def estimate(self, cursor: duckdb.DuckDBPyConnection, translated: Translated) -> Estimate:
        """Raise BigQueryError if a table that requires a partition filter is read without one."""
        catalog = Catalog(cursor)
        # DML also reads its target, which a statement's reads do not repeat.
        records = {read.ref: catalog.find(read.ref) for read in translated.reads}
        stored = {ref: r for ref, r in records.items() if r is not None and r.relation}
        partitioned = [r for r in stored.values() if r.partitioning]
        conditions = {}
        if partitioned and translated.sql and not translated.ml_calls:  # their results come later
            plan = self._planner.plan(translated.sql, list(stored.values()))
            conditions = _conditions(plan, partitioned)
        total, count = 0, 0
        for read in translated.reads:
            record = stored.get(read.ref)
            if record is None:
                continue
            parts = self._sizes.partitions(cursor, record)
            if record.partitioning:
                wanted = conditions.get(record.relation or "", [])
                parts = _kept(cursor, record, parts, wanted)
                count += len(parts)
                if record.resource.get("requirePartitionFilter") and not all(wanted or [[]]):
                    raise _filter_required(record)
            names = {name.lower() for name in read.columns}
            total += sum(p.columns.get(name, 0) for p in parts for name in names)
        tables = tuple(dict.fromkeys(read.ref for read in translated.reads))
        return Estimate(total, count if partitioned else None, tables)


class _Planner:
    """An in-memory DuckDB with empty tables."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def plan(self, query: str, records: list[TableRecord]) -> Any:
        """The physical plan of a DuckDB statement over tables like `records`, or []."""
        with self._guard:
            if self._connection is None:
                self._connection = connect(":memory:", Path(tempfile.gettempdir()))
                self._connection.execute("CREATE SCHEMA data")
                self._connection.execute(f"SET disabled_optimizers = '{_UNPRUNED}'")
            self._connection.execute("BEGIN")
            try:
                for record in records:
                    columns = [column_definition(f) for f in record.fields]
                    if record.by_ingestion_time:
                        columns.append(f"{quoted(PARTITION_TIME)} TIMESTAMPTZ")
                    self._connection.execute(f"CREATE TABLE {record.sql} ({', '.join(columns)})")
                rows = self._connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
                return json.loads(rows[0][1])
            except duckdb.Error as error:
                log.info("No plan to see which partitions are read: %s", error)
                return []
            finally:
                self._connection.execute("ROLLBACK")


def check_limit(estimate: Estimate, limit: Any) -> None:
    """Raise BigQueryError if the query would bill more than maximumBytesBilled."""
    needed = billed(estimate.bytes)
    if limit is not None and needed > int(limit):
        raise BigQueryError(
            "bytesBilledLimitExceeded",
            f"Query exceeded limit for bytes billed: {limit}. {needed} or higher required.",
        )


def _filter_required(record: TableRecord) -> BigQueryError:
    assert record.partitioning
    column = record.partitioning.get("field")
    columns = (
        f"'{column}'" if column else "'_PARTITION_LOAD_TIME', '_PARTITIONDATE', '_PARTITIONTIME'"
    )
    ref = record.ref
    return invalid_query(
        f"Cannot query over table '{ref.project}.{ref.dataset}.{ref.table}' without a filter over "
        f"column(s) {columns} that can be used for partition elimination"
    )


def _conditions(plan: Any, records: list[TableRecord]) -> dict[str, list[list[exp.Expression]]]:
    """Find the conditions by relation: for each of its scans, those on only the partitioning
    column.
    """
    found: dict[str, list[list[exp.Expression]]] = {}
    by_relation = {r.relation or "": r for r in records}
    for node, above in _nodes(plan):
        table = str(node.get("extra_info", {}).get("Table", ""))
        for relation, record in by_relation.items():
            if table.endswith(quoted(relation)):
                texts = [_filter_text(node["extra_info"].get("Filters"))]
                if above is not None and above["name"].strip() == "FILTER":
                    texts.append(_filter_text(above["extra_info"].get("Expression")))
                conditions = [c for text in texts for c in _on_partition(text, record)]
                found.setdefault(relation, []).append(conditions)
    return found


def _nodes(plan: Any, above: Any = None) -> Iterator[tuple[dict, dict | None]]:
    for node in plan if isinstance(plan, list) else [plan]:
        yield node, above
        yield from _nodes(node.get("children", []), node)


def _filter_text(found: Any) -> list[str]:
    texts = found if isinstance(found, list) else [found] if found else []
    return [text for text in texts if not text.startswith("optional:")]


def _on_partition(texts: list[str], record: TableRecord) -> list[exp.Expression]:
    column = partition_column(record).strip('"').lower()
    found = []
    for text in texts:
        try:
            tree = sqlglot.parse_one(text, read="duckdb")
        except sqlglot.errors.SqlglotError:
            continue
        tree = tree.unnest()
        for part in tree.flatten() if isinstance(tree, exp.And) else [tree]:
            columns = {c.name.lower() for c in part.find_all(exp.Column)}
            if columns == {column}:
                found.append(part)
    return found


def _kept(
    cursor: duckdb.DuckDBPyConnection,
    record: TableRecord,
    parts: list[PartitionSize],
    scans: list[list[exp.Expression]],
) -> list[PartitionSize]:
    """The partitions that some scan reads: those whose start, end or any row meets the scan's
    conditions.
    """
    if not scans or not all(scans):
        return parts
    kept: set[str] = set()
    column = partition_column(record)
    for conditions in scans:
        where = " AND ".join(f"({c.sql('duckdb')})" for c in conditions)
        for part in parts:
            if part.id == NULL_PARTITION or part.id in kept:
                continue
            begin, end = (f"CAST({literal(b)} AS TIMESTAMPTZ)" for b in bounds(record, part.id))
            kind = _column_type(record)
            moments = [begin, f"{end} - INTERVAL 1 microsecond"]
            values = ", ".join(f"(CAST({moment} AS {kind}))" for moment in moments)
            within = f"{column} >= {begin} AND {column} < {end}"
            hit = cursor.execute(
                f"SELECT 1 FROM (VALUES {values}) AS m({column}) WHERE {where} "
                f"UNION ALL SELECT * FROM (SELECT 1 FROM {record.sql} "
                f"WHERE {within} AND {where} LIMIT 1) LIMIT 1"
            ).fetchall()
            if hit:
                kept.add(part.id)
        if any(p.id == NULL_PARTITION for p in parts):
            hit = cursor.execute(
                f"SELECT 1 FROM (SELECT CAST(NULL AS {_column_type(record)}) AS {column}) "
                f"WHERE {where}"
            ).fetchall()
            if hit:
                kept.add(NULL_PARTITION)
    return [part for part in parts if part.id in kept]


def _column_type(record: TableRecord) -> str:
    name = (record.partitioning or {}).get("field")
    return next((f.duckdb for f in record.fields if f.name == name), "TIMESTAMPTZ")
