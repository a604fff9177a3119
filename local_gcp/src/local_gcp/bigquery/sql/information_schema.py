"""INFORMATION_SCHEMA of a dataset: TABLES, COLUMNS, PARTITIONS, and the project's SCHEMATA.

https://cloud.google.com/bigquery/docs/information-schema-intro. Also `dataset.__TABLES__` and
`__TABLES_SUMMARY__`, which Google does not document, but tools read (dbt-bigquery's catalog.sql):
times in milliseconds, `type` 1 for tables and 2 for views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from local_gcp.bigquery.refs import DatasetRef

from .catalog import Table
from .context import Context, Output
from .types import INT64, STRING, TIMESTAMP, Type, constant

_Rows = Iterator[tuple[Any, ...]]

_TABLES = (
    ("table_catalog", STRING),
    ("table_schema", STRING),
    ("table_name", STRING),
    ("table_type", STRING),
    ("is_insertable_into", STRING),
    ("is_typed", STRING),
    ("creation_time", TIMESTAMP),
)
_COLUMNS = (
    ("table_catalog", STRING),
    ("table_schema", STRING),
    ("table_name", STRING),
    ("column_name", STRING),
    ("ordinal_position", INT64),
    ("is_nullable", STRING),
    ("data_type", STRING),
    ("is_hidden", STRING),
    ("is_partitioning_column", STRING),
    ("clustering_ordinal_position", INT64),
    ("column_default", STRING),
)
_PARTITIONS = (
    ("table_catalog", STRING),
    ("table_schema", STRING),
    ("table_name", STRING),
    ("partition_id", STRING),
    ("total_rows", INT64),
    ("total_logical_bytes", INT64),
    ("last_modified_time", TIMESTAMP),
    ("storage_tier", STRING),
)
_NAMES = (("project_id", STRING), ("dataset_id", STRING), ("table_id", STRING))
META_TABLES = {
    "__TABLES__": (
        *_NAMES,
        ("creation_time", INT64),
        ("last_modified_time", INT64),
        ("row_count", INT64),
        ("size_bytes", INT64),
        ("type", INT64),
    ),
    "__TABLES_SUMMARY__": (*_NAMES, ("creation_time", INT64), ("type", INT64)),
}
_SCHEMATA = (("catalog_name", STRING), ("schema_name", STRING))


def view(ctx: Context, node: exp.Table, name: str) -> Output:
    """The rows of `[p.]d.INFORMATION_SCHEMA.X`; other views are refused."""
    head, _, which = name.rpartition(".")
    head = head[: len(head) - len("INFORMATION_SCHEMA")].rstrip(".")
    which = which.upper()
    job = ctx.job
    if which == "SCHEMATA":
        rows = ((d.project, d.dataset) for d in job.catalog.datasets())
        return _values(_SCHEMATA, rows)
    if which not in _VIEWS:
        raise ctx.not_emulated(f"INFORMATION_SCHEMA.{which}", node)
    if head.rpartition(".")[2].lower().startswith("region-"):
        raise ctx.not_emulated(f"{head}.INFORMATION_SCHEMA.{which} (a dataset's is)", node)
    dataset = DatasetRef.parse(head, job.settings.project) if head else job.settings.dataset
    if dataset is None:
        raise ctx.error(
            f'Table "INFORMATION_SCHEMA.{which}" must be qualified with a dataset '
            "(e.g. dataset.INFORMATION_SCHEMA.TABLES)",
            node,
        )
    columns, rows_of = _VIEWS[which]
    tables = sorted(job.catalog.tables(dataset), key=lambda t: t.ref.table)
    return _values(columns, (row for table in tables for row in rows_of(ctx, table)))


def _values(columns: tuple[tuple[str, Type], ...], rows: Iterator[tuple[Any, ...]]) -> Output:
    listed = [
        "(" + ", ".join(constant(v, t).sql for v, (_, t) in zip(row, columns, strict=True)) + ")"
        for row in rows
    ]
    names = ", ".join(f"c{i + 1}" for i in range(len(columns)))
    nulls = ", ".join(f"CAST(NULL AS {t.duckdb})" for _, t in columns)
    # The row of NULLs gives the types if there is no other row; it is never returned.
    values = ", ".join([f"({nulls})", *listed])
    sql = f"SELECT {names} FROM (VALUES {values}) AS q({names}) WHERE c1 IS NOT NULL"
    return Output(sql, tuple(n for n, _ in columns), tuple(t for _, t in columns))


def meta_table(ctx: Context, node: exp.Table, name: str) -> Output:
    """The rows of `[p.]d.__TABLES__` or `__TABLES_SUMMARY__`."""
    head, _, which = name.rpartition(".")
    settings = ctx.job.settings
    dataset = DatasetRef.parse(head, settings.project) if head else settings.dataset
    if dataset is None:
        raise ctx.error(f'Table "{which}" must be qualified with a dataset', node)
    columns = META_TABLES[which]
    tables = sorted(ctx.job.catalog.tables(dataset), key=lambda table: table.ref.table)
    return _values(columns, (_meta_row(table, columns) for table in tables))


def _meta_row(table: Table, columns: tuple[tuple[str, Type], ...]) -> tuple[Any, ...]:
    stored = table.kind == "TABLE"
    values = {
        "project_id": table.ref.project,
        "dataset_id": table.ref.dataset,
        "table_id": table.ref.table,
        "creation_time": round(table.created.timestamp() * 1000),
        "last_modified_time": round(table.modified.timestamp() * 1000),
        "row_count": table.rows if stored else None,
        "size_bytes": table.bytes if stored else None,
        "type": 1 if stored else 2,
    }
    return tuple(values[name] for name, _ in columns)


def _of(table: Table) -> tuple[str, str, str]:
    return table.ref.project, table.ref.dataset, table.ref.table


def _tables(ctx: Context, table: Table) -> _Rows:
    kind = {"TABLE": "BASE TABLE"}.get(table.kind, table.kind)
    insertable = "YES" if table.kind == "TABLE" else "NO"
    yield *_of(table), kind, insertable, "NO", table.created


def _columns(ctx: Context, table: Table) -> _Rows:
    clustering = [name.lower() for name in table.clustering]
    partitioned = (table.partitioning.column or "") if table.partitioning else ""
    for place, field in enumerate(table.fields, 1):
        name = field.name.lower()
        yield (
            *_of(table),
            field.name,
            place,
            "NO" if field.mode == "REQUIRED" else "YES",
            field.parameterized_type,
            "NO",
            "YES" if name == partitioned.lower() else "NO",
            clustering.index(name) + 1 if name in clustering else None,
            field.default or "NULL",
        )


def _partitions(ctx: Context, table: Table) -> _Rows:
    if table.kind != "TABLE":
        return
    for part in ctx.job.catalog.partitions(table.ref):
        yield *_of(table), part.id or None, part.rows, part.bytes, part.modified, "ACTIVE"


_VIEWS: dict[str, tuple[tuple[tuple[str, Type], ...], Callable[[Context, Table], _Rows]]] = {
    "TABLES": (_TABLES, _tables),
    "COLUMNS": (_COLUMNS, _columns),
    "PARTITIONS": (_PARTITIONS, _partitions),
}
