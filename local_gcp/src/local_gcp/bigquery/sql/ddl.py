"""CREATE, DROP, ALTER, EXPORT DATA, CREATE MODEL.

https://cloud.google.com/bigquery/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from local_gcp.bigquery.refs import DatasetRef
from local_gcp.bigquery.schema import Field

from . import columns, ml, options, queries, sources
from .context import Context, Output, parse_into
from .dispatch import query
from .names import table_text
from .parsing import tokenize
from .partitioning import Partitioning
from .statements import Statement
from .translated import (
    AddColumn,
    AlterModel,
    AlterTable,
    CreateModel,
    CreateSchema,
    CreateTable,
    CreateView,
    Drop,
    DropColumn,
    ExportData,
    RenameColumn,
    RenameTable,
    SetOptions,
    Translated,
)
from .types import Type, Value, coerce

KINDS = frozenset(
    {"CREATE_TABLE", "CREATE_TABLE_AS_SELECT", "CREATE_VIEW", "CREATE_SCHEMA", "CREATE_MODEL",
     "DROP_TABLE", "DROP_VIEW", "DROP_SCHEMA", "DROP_MODEL", "ALTER_TABLE", "ALTER_MODEL",
     "EXPORT_DATA"}
)  # fmt: skip


_MODEL_WORD = re.compile(r"^(\s*ALTER\s+)MODEL\b", re.IGNORECASE)


def translate(ctx: Context, statement: Statement) -> Translated:
    """A statement that creates, changes or drops something."""
    text = statement.text
    if statement.kind == "ALTER_MODEL":
        # sqlglot knows this statement of tables alone; of a model it has the same form.
        text = _MODEL_WORD.sub(r"\1TABLE", text, count=1)
    tree = parse_into(ctx.job, text)
    if isinstance(tree, exp.Create):
        return _create(ctx, statement, tree)
    if isinstance(tree, exp.Drop):
        return _drop(ctx, statement.kind, tree)
    if isinstance(tree, exp.Alter):
        return (_alter_model if statement.kind == "ALTER_MODEL" else _alter)(ctx, tree)
    if isinstance(tree, exp.Export):
        return _export(ctx, tree)
    raise ctx.not_emulated(f"this form of {statement.kind.replace('_', ' ')}", tree)


def _create(ctx: Context, statement: Statement, tree: exp.Create) -> Translated:
    if any(isinstance(p, exp.TemporaryProperty) for p in _properties(tree)):
        raise ctx.not_emulated("TEMPORARY tables, views and models", tree)
    for key in ("clone", "begin", "end", "indexes", "no_schema_binding", "unique"):
        if tree.args.get(key):
            raise ctx.not_emulated(f"CREATE with {key.upper()}", tree)
    if statement.kind == "CREATE_SCHEMA":
        return _create_schema(ctx, tree)
    if statement.kind == "CREATE_VIEW":
        return _create_view(ctx, statement, tree)
    if statement.kind == "CREATE_MODEL":
        return _create_model(ctx, statement, tree)
    return _create_table(ctx, tree)


def _properties(tree: exp.Expression) -> list[exp.Expression]:
    found = tree.args.get("properties")
    return list(found.expressions) if found is not None else []


def _flags(tree: exp.Create) -> dict[str, bool]:
    return {
        "replace": bool(tree.args.get("replace")),
        "if_not_exists": bool(tree.args.get("exists")),
    }


def _create_table(ctx: Context, tree: exp.Create) -> Translated:
    schema = tree.this if isinstance(tree.this, exp.Schema) else None
    ref = sources.ref_of(ctx, schema.this if schema is not None else tree.this)
    plain, partitioning, clustering = [], None, ()
    for item in _properties(tree):
        if isinstance(item, exp.PartitionedByProperty):
            partitioning = item
        elif isinstance(item, exp.ClusterProperty):
            clustering = tuple(column.name for column in item.expressions)
        elif isinstance(item, exp.Property) and type(item) is exp.Property:
            plain.append(item)
        else:
            raise ctx.not_emulated(f"CREATE TABLE with {item.sql('bigquery')}", item)
    fields = tuple(columns.column(ctx, c) for c in schema.expressions) if schema is not None else ()
    output = None
    if tree.expression is not None:
        output = query(ctx, tree.expression, names=True)
        fields, output = _as_columns(ctx, fields, output, tree.expression)
    elif not fields:
        raise ctx.error("CREATE TABLE needs columns or AS SELECT", tree)
    _unique(ctx, fields, tree)
    details = CreateTable(
        ref,
        fields,
        _partitioning(ctx, partitioning.this, fields) if partitioning is not None else None,
        clustering,
        options.of_properties(ctx, plain),
        **_flags(tree),
    )
    if output is None:
        return Translated("CREATE_TABLE", target=ref, details=details, fields=())
    return queries.finish(
        ctx.job, "CREATE_TABLE_AS_SELECT", output, fields=fields, target=ref, details=details
    )


def _unique(ctx: Context, fields: Sequence[Field], node: exp.Expression) -> None:
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            raise ctx.error(f"Duplicate column name {field.name} in CREATE TABLE", node)
        seen.add(field.name.lower())


def _as_columns(
    ctx: Context, fields: tuple[Field, ...], output: Output, node: exp.Expression
) -> tuple[tuple[Field, ...], Output]:
    """The columns of CREATE TABLE ... AS, and a query that converts to their types."""
    have = queries.fields_of(output)
    if not fields:
        return have, output
    if len(have) != len(fields):
        raise ctx.error(
            f"The number of columns in the column definition list ({len(fields)}) does not match "
            f"the number of columns produced by the query ({len(have)})",
            node,
        )
    from local_gcp.bigquery.schema import quoted

    parts = []
    for field, old in zip(fields, have, strict=True):
        sql = coerce(Value(f"q.{quoted(old.name)}", Type.of(old)), Type.of(field))
        if sql is None:
            raise ctx.error(
                f"Query column {old.name} has type {old.data_type} which cannot be coerced into "
                f"column {field.name}, which has type {field.data_type}",
                node,
            )
        parts.append(f"{sql} AS {quoted(field.name)}")
    sql = f"SELECT {', '.join(parts)} FROM ({output.sql}) AS q"
    return fields, Output(sql, tuple(f.name for f in fields), tuple(map(Type.of, fields)))


def _partitioning(ctx: Context, node: exp.Expression, fields: Sequence[Field]) -> Partitioning:
    """PARTITION BY _PARTITIONDATE, column, DATE(column), DATE_TRUNC(column, MONTH), ..."""
    if isinstance(node, exp.Column | exp.Identifier):
        if node.name.upper() in ("_PARTITIONDATE", "_PARTITIONTIME"):
            return Partitioning(None, "DAY")
        field = _named(ctx, node, fields)
        if field.type != "DATE":
            raise ctx.error(
                "PARTITION BY expression must be DATE(<timestamp_column>), "
                "DATE(<datetime_column>), DATETIME_TRUNC(<datetime_column>, "
                "DAY/HOUR/MONTH/YEAR), a DATE column, TIMESTAMP_TRUNC(<timestamp_column>, "
                "DAY/HOUR/MONTH/YEAR), DATE_TRUNC(<date_column>, MONTH/YEAR), or "
                "RANGE_BUCKET(<int64_column>, GENERATE_ARRAY(<int64_value>, <int64_value>[, "
                "<int64_value>]))",
                node,
            )
        return Partitioning(field.name, "DAY")
    name = node.name.upper() if isinstance(node, exp.Anonymous) else ""
    column = node.expressions[0] if name and node.expressions else None
    if name == "DATE" and len(node.expressions) == 1:
        if column.name.upper() == "_PARTITIONTIME":
            return Partitioning(None, "DAY")
        return Partitioning(_named(ctx, column, fields).name, "DAY")
    if name in ("DATE_TRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC") and len(node.expressions) == 2:
        part = node.expressions[1].name.upper()
        if part not in ("HOUR", "DAY", "MONTH", "YEAR"):
            raise ctx.error(f"PARTITION BY does not support {part}", node)
        if column.name.upper() in ("_PARTITIONTIME", "_PARTITIONDATE"):
            return Partitioning(None, part)
        return Partitioning(_named(ctx, column, fields).name, part)
    raise ctx.not_emulated(f"PARTITION BY {node.sql('bigquery')}", node)


def _named(ctx: Context, node: exp.Expression, fields: Sequence[Field]) -> Field:
    for field in fields:
        if field.name.lower() == node.name.lower():
            return field
    raise ctx.error(f"Unrecognized name: {node.name}", node)


def query_text(text: str) -> str:
    """The text after the first AS outside of parentheses: the query of a CREATE or EXPORT."""
    depth = 0
    for token in tokenize(text):
        if token.token_type in (TokenType.L_PAREN, TokenType.R_PAREN):
            depth += 1 if token.token_type == TokenType.L_PAREN else -1
        elif depth == 0 and token.text.upper() == "AS" and token.token_type == TokenType.ALIAS:
            return text[token.end + 1 :].strip()
    return ""


def _plain_options(ctx: Context, tree: exp.Create, what: str) -> dict[str, Any]:
    items = _properties(tree)
    for item in items:
        if type(item) is not exp.Property:
            raise ctx.not_emulated(f"{what} with {item.sql('bigquery')}", item)
    return options.of_properties(ctx, items)


def _create_view(ctx: Context, statement: Statement, tree: exp.Create) -> Translated:
    if isinstance(tree.this, exp.Schema):
        raise ctx.not_emulated("CREATE VIEW with a list of columns", tree)
    ref = sources.ref_of(ctx, tree.this)
    output = query(ctx, tree.expression, names=True)
    details = CreateView(
        ref,
        query_text(statement.text),
        queries.fields_of(output),
        _plain_options(ctx, tree, "CREATE VIEW"),
        **_flags(tree),
    )
    return Translated("CREATE_VIEW", reads=ctx.job.read_list, target=ref, details=details)


def _dataset(ctx: Context, node: exp.Table) -> DatasetRef:
    text = ".".join(part.name for part in node.parts if part is not None and part.name)
    return DatasetRef.parse(text, ctx.job.settings.project)


def _create_schema(ctx: Context, tree: exp.Create) -> Translated:
    ref = _dataset(ctx, tree.this)
    details = CreateSchema(
        ref, _plain_options(ctx, tree, "CREATE SCHEMA"), bool(tree.args.get("exists"))
    )
    return Translated("CREATE_SCHEMA", target=ref, details=details)


def _create_model(ctx: Context, statement: Statement, tree: exp.Create) -> Translated:
    ref = ml.model_ref(ctx, tree.this)
    given = _plain_options(ctx, tree, "CREATE MODEL")
    if tree.expression is None:
        raise ctx.not_emulated("CREATE MODEL without AS SELECT", tree)
    output = query(ctx, tree.expression, names=True)
    details = CreateModel(ref, given, query_text(statement.text), **_flags(tree))
    return queries.finish(ctx.job, "CREATE_MODEL", output, target=ref, details=details)


def _drop(ctx: Context, kind: str, tree: exp.Drop) -> Translated:
    node = (tree.args.get("tables") or [tree.this])[0]
    if len(tree.args.get("tables") or [node]) != 1:
        raise ctx.not_emulated("DROP of several things at once", tree)
    if kind == "DROP_SCHEMA":
        ref: Any = _dataset(ctx, node)
    elif kind == "DROP_MODEL":
        ref = ml.model_ref(ctx, node)
    else:
        ref = sources.ref_of(ctx, node)
    details = Drop(ref, bool(tree.args.get("exists")), bool(tree.args.get("cascade")))
    return Translated(kind, target=ref, details=details)


def _alter(ctx: Context, tree: exp.Alter) -> Translated:
    ref = sources.ref_of(ctx, tree.this)
    actions = tuple(_action(ctx, node, ref) for node in tree.args.get("actions") or [])
    details = AlterTable(ref, actions, bool(tree.args.get("exists")))
    return Translated("ALTER_TABLE", target=ref, details=details)


def _alter_model(ctx: Context, tree: exp.Alter) -> Translated:
    ref = ml.model_ref(ctx, tree.this)
    actions = [_action(ctx, node, ref) for node in tree.args.get("actions") or []]
    if len(actions) != 1 or not isinstance(actions[0], SetOptions):
        raise ctx.not_emulated("ALTER MODEL without SET OPTIONS", tree)
    details = AlterModel(ref, actions[0].options, bool(tree.args.get("exists")))
    return Translated("ALTER_MODEL", target=ref, details=details)


def _action(ctx: Context, node: exp.Expression, ref: Any) -> Any:
    if isinstance(node, exp.ColumnDef):
        return AddColumn(columns.column(ctx, node), bool(node.args.get("exists")))
    if isinstance(node, exp.Drop) and (node.args.get("kind") or "").upper() == "COLUMN":
        column = (node.args.get("tables") or [node.this])[0]
        return DropColumn(column.name, bool(node.args.get("exists")))
    if isinstance(node, exp.RenameColumn):
        return RenameColumn(node.this.name, node.args["to"].name)
    if isinstance(node, exp.AlterRename):
        new = table_text(node.this)
        if "." in new:
            raise ctx.error("RENAME TO takes a table name without a dataset", node)
        return RenameTable(type(ref)(ref.project, ref.dataset, new))
    if isinstance(node, exp.AlterSet):
        items = [i for e in node.expressions for i in (e.expressions or [e])]
        return SetOptions(options.of_properties(ctx, items))
    raise ctx.not_emulated(f"ALTER TABLE {node.sql('bigquery')}", node)


def _export(ctx: Context, tree: exp.Export) -> Translated:
    if tree.args.get("connection"):
        raise ctx.not_emulated("EXPORT DATA WITH CONNECTION", tree)
    found = tree.args.get("options")
    given = options.of_properties(ctx, list(found.expressions) if found is not None else [])
    output = query(ctx, tree.this, names=True)
    return queries.finish(ctx.job, "EXPORT_DATA", output, details=ExportData(given))
