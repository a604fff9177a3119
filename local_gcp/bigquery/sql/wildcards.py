"""Wildcard tables: all tables whose names begin alike, as one.

Columns are as the table created last has them; `_TABLE_SUFFIX` is the rest of a table's name.
https://cloud.google.com/bigquery/docs/querying-wildcard-tables
"""

from __future__ import annotations

from sqlglot import exp

from local_gcp.bigquery.refs import DatasetRef
from local_gcp.bigquery.schema import quoted

from .context import Context
from .scopes import Column, Relation
from .types import STRING, Type, Value, coerce, literal


def item(ctx: Context, node: exp.Table, name: str, label: str | None) -> tuple[str, Relation]:
    """`name` (`d.prefix*`) as an item of FROM called `label`: its SQL, and its columns."""
    prefix = name[:-1]
    head, _, start = prefix.rpartition(".")
    if head:
        dataset = DatasetRef.parse(head, ctx.job.settings.project)
    elif ctx.job.settings.dataset is not None:
        dataset = ctx.job.settings.dataset
    else:
        raise ctx.error(
            f'Table "{name}" must be qualified with a dataset (e.g. dataset.table)', node
        )
    tables = [
        t
        for t in ctx.job.catalog.tables(dataset)
        if t.ref.table.startswith(start) and t.kind == "TABLE"
    ]
    if not tables:
        raise ctx.error(
            f"{dataset.project}:{dataset.dataset}.{start}* does not match any table", node
        )
    latest = max(tables, key=lambda t: (t.created, t.ref.table))
    queries = []
    for table in tables:
        have = {f.name.lower(): f for f in table.fields}
        parts = []
        for field in latest.fields:
            kind, own = Type.of(field), have.get(field.name.lower())
            if own is None:
                parts.append(f"CAST(NULL AS {field.duckdb})")
                continue
            sql = coerce(Value(quoted(own.name), Type.of(own)), kind)
            if sql is None:
                raise ctx.error(
                    f"Cannot read field of type {Type.of(own)} as {kind} Field: {field.name}", node
                )
            parts.append(sql)
        parts.append(literal(table.ref.table[len(start) :]))
        named = ", ".join(f"{p} AS c{i + 1}" for i, p in enumerate(parts))
        queries.append(f"SELECT {named} FROM {table.relation}")
        for field in latest.fields:
            ctx.job.read(table.ref, field.name)
    alias = ctx.job.alias()
    columns = tuple(
        Column(f.name, Type.of(f), f"{alias}.c{i + 1}") for i, f in enumerate(latest.fields)
    )
    suffix = Column("_TABLE_SUFFIX", STRING, f"{alias}.c{len(columns) + 1}")
    sql = f"({' UNION ALL '.join(queries)}) AS {alias}"
    return sql, Relation(label, columns, (suffix,))
