"""INSERT, UPDATE, DELETE, MERGE and TRUNCATE TABLE.

https://cloud.google.com/bigquery/docs/reference/standard-sql/dml-syntax
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlglot import exp

from local_gcp.bigquery.fitting import fitted_sql
from local_gcp.bigquery.schema import Field, quoted

from . import queries, sources
from .catalog import Catalog, Table
from .context import Context, Job
from .dispatch import query, translate_as
from .dispatch import translate as value_of
from .names import table_text
from .parsing import parse
from .scopes import Relation, Scope
from .settings import Settings
from .translated import Translated
from .types import BOOL, Type, Value, coerce, literal

KINDS = ("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE_TABLE")
_PARTITION_TIME = Field("_PARTITIONTIME", "TIMESTAMP")


def translate(ctx: Context, kind: str, tree: exp.Expression) -> Translated:
    """A statement that changes rows."""
    function = {
        "INSERT": _insert,
        "UPDATE": _update,
        "DELETE": _delete,
        "MERGE": _merge,
        "TRUNCATE_TABLE": _truncate,
    }[kind]
    table, sql = function(ctx, tree)
    job = ctx.job
    return Translated(
        kind, sql, reads=job.read_list, target=table.ref, ml_calls=tuple(job.ml_calls)
    )


def _target(ctx: Context, node: exp.Expression | None) -> Table:
    if not isinstance(node, exp.Table):
        raise ctx.error("Expected the name of a table", node)
    ref = sources.ref_of(ctx, node)
    if "$" in ref.table:
        raise ctx.error(f'Table "{table_text(node)}" cannot include decorator', node)
    table = ctx.job.catalog.table(ref)
    if table.kind != "TABLE":
        raise ctx.error(
            f"{table.ref} is not a table: a {table.kind.lower()} cannot be changed", node
        )
    return table


def _field(ctx: Context, table: Table, node: exp.Expression) -> Field:
    """The column with this name."""
    fields = table.fields
    if table.partitioning is not None and table.partitioning.column is None:
        fields = (*fields, _PARTITION_TIME)
    for field in fields:
        if field.name.lower() == node.name.lower():
            return field
    raise ctx.error(
        f"Column {node.name} is not present in table {table.ref.project}.{table.ref.dataset}"
        f".{table.ref.table}",
        node,
    )


def assigned(
    ctx: Context, value: Value, field: Field, node: exp.Expression | None, verb: str
) -> str:
    """The SQL of a value for a column; raises an error for another type."""
    sql = coerce(value, Type.of(field))
    if sql is None:
        raise ctx.error(
            f"Value of type {value.type} cannot be {verb} {field.name}, which has type "
            f"{field.data_type}",
            node,
        )
    sql = fitted_sql(field, sql)
    if field.repeated:  # a NULL array is stored as an empty one
        empty = f"CAST([] AS {field.duckdb})"
        return f"coalesce(bq_no_nulls({sql}, {literal(field.name)}), {empty})"
    return sql


def default_sql(field: Field, project: str) -> str:
    """The DuckDB expression of a column's default, which names no table."""
    no_tables = cast(Catalog, None)
    return _default(Context(Job("", Settings(project), no_tables, {}), Scope()), field)


def _default(ctx: Context, field: Field) -> str:
    if field.default is None:
        empty = f"CAST([] AS {field.duckdb})" if field.repeated else None
        return empty or f"CAST(NULL AS {field.duckdb})"
    tree = parse(f"SELECT {field.default}").expressions[0]
    bare = ctx.inside(scope=Scope(), grouped=None, no_aggregates="DEFAULT")
    return assigned(ctx, value_of(bare, tree), field, None, "assigned to")


def _filled(
    ctx: Context, table: Table, chosen: Sequence[Field], values: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Columns and values of an inserted row, with defaults for other columns."""
    names = [quoted(f.name) for f in chosen]
    parts = list(values)
    given = {f.name.lower() for f in chosen}
    for field in table.fields:
        if field.name.lower() not in given and (field.default or field.repeated):
            names.append(quoted(field.name))
            parts.append(_default(ctx, field))
    return names, parts


def _insert(ctx: Context, tree: exp.Insert) -> tuple[Table, str]:
    schema = tree.this
    node = schema.this if isinstance(schema, exp.Schema) else schema
    table = _target(ctx, node)
    chosen = list(table.fields)
    if isinstance(schema, exp.Schema):
        chosen = [_field(ctx, table, column) for column in schema.expressions]
        names = [f.name for f in chosen]
        for name in names:
            if names.count(name) > 1:
                raise ctx.error(f"INSERT has columns with duplicate name: {name}", schema)
    source = tree.expression
    if isinstance(source, exp.Values):
        rows = [_inserted_row(ctx, table, chosen, row) for row in source.expressions]
        names, _ = _filled(ctx, table, chosen, [""] * len(chosen))
        listed = ", ".join(f"({', '.join(parts)})" for parts in rows)
        return table, f"INSERT INTO {table.relation} ({', '.join(names)}) VALUES {listed}"
    if not isinstance(source, exp.Query):
        raise ctx.not_emulated("INSERT without VALUES or a query", tree)
    if tree.args.get("with_") is not None:
        source.set("with_", tree.args["with_"])
    output = query(ctx, source)
    if len(output.types) != len(chosen):
        raise ctx.error(
            f"Inserted row has wrong column count; Has {len(output.types)}, expected {len(chosen)}",
            source,
        )
    values = []
    for i, (kind, field) in enumerate(zip(output.types, chosen, strict=True)):
        column = queries.branch_value(output, i, source)
        column = Value(f"q.c{i + 1}", kind, column.literal, column.null)
        values.append(assigned(ctx, column, field, source, "inserted into"))
    names, parts = _filled(ctx, table, chosen, values)
    sql = f"SELECT {', '.join(parts)} FROM ({output.sql}) AS q"
    return table, f"INSERT INTO {table.relation} ({', '.join(names)}) {sql}"


def _inserted_row(
    ctx: Context, table: Table, chosen: Sequence[Field], row: exp.Expression
) -> list[str]:
    cells = row.expressions if isinstance(row, exp.Tuple) else [row]
    if len(cells) != len(chosen):
        raise ctx.error(
            f"Inserted row has wrong column count; Has {len(cells)}, expected {len(chosen)}", row
        )
    values = [_cell(ctx, cell, field) for cell, field in zip(cells, chosen, strict=True)]
    return _filled(ctx, table, chosen, values)[1]


def _cell(ctx: Context, node: exp.Expression, field: Field, verb: str = "inserted into") -> str:
    bare = isinstance(node, exp.Column) and not node.table and not node.this.args.get("quoted")
    if (isinstance(node, exp.Var) or bare) and node.name.upper() == "DEFAULT":
        return _default(ctx, field)
    clause = ctx.inside(no_aggregates="DML", no_windows="DML")
    return assigned(ctx, value_of(clause, node), field, node, verb)


def _here(ctx: Context, table: Table, node: exp.Expression) -> tuple[str, Relation]:
    """A generated alias of the target, and its relation under the statement's alias."""
    alias = ctx.job.alias()
    label = node.alias if isinstance(node, exp.Table) else ""
    ctx.job.read(table.ref)
    return alias, sources.relation_of(table, alias, label or table.ref.table)


def _update(ctx: Context, tree: exp.Update) -> tuple[Table, str]:
    table = _target(ctx, tree.this)
    if tree.args.get("where") is None:
        raise ctx.error("UPDATE must have a WHERE clause", tree)
    if tree.args.get("from_") is not None:
        raise ctx.not_emulated("UPDATE ... FROM", tree)
    alias, relation = _here(ctx, table, tree.this)
    inner = ctx.inside(scope=Scope([relation]), no_aggregates="UPDATE", no_windows="UPDATE")
    sets = _assignments(inner, table, relation, tree.expressions)
    condition = translate_as(inner, tree.args["where"].this, BOOL, "WHERE clause")
    return table, f"UPDATE {table.relation} AS {alias} SET {sets} WHERE {condition}"


def _assignments(
    ctx: Context, table: Table, relation: Relation, nodes: Sequence[exp.Expression]
) -> str:
    """The SQL of the assignments after SET."""
    found: dict[str, str] = {}
    for node in nodes:
        if not isinstance(node, exp.EQ) or not isinstance(node.this, exp.Column | exp.Dot):
            raise ctx.not_emulated(f"SET {node.sql('bigquery')}", node)
        path = list(node.this.parts)
        if len(path) > 1 and relation.name and path[0].name.lower() == relation.name.lower():
            path = path[1:]
        if len(path) > 1:
            raise ctx.not_emulated("SET of a field of a STRUCT", node)
        field = _field(ctx, table, path[0])
        if field.name in found:
            raise ctx.error(f"Update item {field.name} assigned more than once", node)
        found[field.name] = _cell(ctx, node.expression, field, "assigned to")
    return ", ".join(f"{quoted(name)} = {sql}" for name, sql in found.items())


def _delete(ctx: Context, tree: exp.Delete) -> tuple[Table, str]:
    node = tree.this or (tree.args.get("tables") or [None])[0]
    table = _target(ctx, node)
    if tree.args.get("where") is None:
        raise ctx.error("DELETE must have a WHERE clause", tree)
    alias, relation = _here(ctx, table, node)
    inner = ctx.inside(scope=Scope([relation]), no_aggregates="DELETE", no_windows="DELETE")
    condition = translate_as(inner, tree.args["where"].this, BOOL, "WHERE clause")
    return table, f"DELETE FROM {table.relation} AS {alias} WHERE {condition}"


def _truncate(ctx: Context, tree: exp.TruncateTable) -> tuple[Table, str]:
    table = _target(ctx, tree.expressions[0] if tree.expressions else None)
    return table, f"DELETE FROM {table.relation}"


def _merge(ctx: Context, tree: exp.Merge) -> tuple[Table, str]:
    table = _target(ctx, tree.this)
    alias, relation = _here(ctx, table, tree.this)
    source_sql, source = sources.item(ctx.inside(scope=Scope()), tree.args["using"])
    both = ctx.inside(scope=Scope([relation, source]), no_aggregates="MERGE", no_windows="MERGE")
    condition = translate_as(both, tree.args["on"], BOOL, "MERGE ON condition")
    words = []
    for when in tree.args["whens"].expressions:
        words.append(_when(ctx, both, table, relation, source, when))
    return table, (
        f"MERGE INTO {table.relation} AS {alias} USING {source_sql} ON {condition} "
        f"{' '.join(words)} RETURNING merge_action"
    )


def _when(
    ctx: Context, both: Context, table: Table, relation: Relation, source: Relation, node: exp.When
) -> str:
    if node.args.get("matched"):
        head, inner = "WHEN MATCHED", both
    elif node.args.get("source"):
        head, inner = "WHEN NOT MATCHED BY SOURCE", both.inside(scope=Scope([relation]))
    else:
        head, inner = "WHEN NOT MATCHED BY TARGET", both.inside(scope=Scope([source]))
    condition = node.args.get("condition")
    if condition is not None:
        head += f" AND {translate_as(inner, condition, BOOL, 'WHEN condition')}"
    action = node.args["then"]
    if isinstance(action, exp.Var) and action.name.upper() == "DELETE":
        return f"{head} THEN DELETE"
    if isinstance(action, exp.Update):
        return f"{head} THEN UPDATE SET {_assignments(inner, table, relation, action.expressions)}"
    if not isinstance(action, exp.Insert):
        raise ctx.not_emulated(f"THEN {action.sql('bigquery')}", node)
    chosen = list(table.fields)
    if isinstance(action.this, exp.Tuple):
        chosen = [_field(ctx, table, column) for column in action.this.expressions]
    if action.expression:
        given = action.expression
        cells = given.expressions if isinstance(given, exp.Tuple) else [given]
        if len(cells) != len(chosen):
            raise ctx.error(
                f"Inserted row has wrong column count; Has {len(cells)}, expected {len(chosen)}",
                action,
            )
        values = [_cell(inner, cell, field) for cell, field in zip(cells, chosen, strict=True)]
    else:  # INSERT ROW
        if len(source.columns) != len(chosen):
            raise ctx.error(
                f"Inserted row has wrong column count; Has {len(source.columns)}, "
                f"expected {len(chosen)}",
                action,
            )
        values = [
            assigned(ctx, column.value, field, action, "inserted into")
            for column, field in zip(source.columns, chosen, strict=True)
        ]
        for column in source.columns:
            if column.table:
                ctx.job.read(column.table, column.name)
    names, parts = _filled(ctx, table, chosen, values)
    return f"{head} THEN INSERT ({', '.join(names)}) VALUES ({', '.join(parts)})"
