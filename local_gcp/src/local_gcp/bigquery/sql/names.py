"""Resolves names in expressions: columns, STRUCT fields, whole rows, script variables."""

from __future__ import annotations

from sqlglot import exp

from .context import Context
from .scopes import Column, Relation, Scope
from .types import JSON, Type, Value, constant, literal, pack, struct_name


def resolve(ctx: Context, path: list[exp.Expression]) -> Value:
    """The value of a dotted path of identifiers."""
    first = path[0].name
    scope: Scope | None = ctx.scope
    while scope is not None:
        relation = scope.relation(first)
        if relation is not None:
            return _in_relation(ctx, scope, relation, path)
        columns = scope.columns(first)
        if len(columns) > 1:
            raise ctx.error(f"Column name {first} is ambiguous", path[0])
        if columns:
            base = use(ctx, columns[0], path[0], outer=scope is not ctx.scope)
            return _fields(ctx, base, path[1:])
        scope = scope.parent
    variable = ctx.job.variables.get(first.lower())
    if variable is not None:
        return _fields(ctx, constant(variable.value, Type.of(variable.type)), path[1:])
    raise ctx.error(f"Unrecognized name: {first}{ctx.scope.suggestion(first)}", path[0])


def use(ctx: Context, column: Column, node: exp.Expression | None, outer: bool = False) -> Value:
    """A column's value; raises an error if it is neither grouped nor aggregated."""
    if column.table is not None:
        ctx.job.read(column.table, column.name)
    if ctx.grouped is not None and not outer and column.sql not in ctx.grouped:
        message = (
            f"expression references column {column.name} which is neither grouped nor aggregated"
        )
        raise ctx.error(f"SELECT list {message}", node)
    return column.value


def _in_relation(
    ctx: Context, scope: Scope, relation: Relation, path: list[exp.Expression]
) -> Value:
    outer = scope is not ctx.scope
    if len(path) == 1:
        if relation.value is not None:
            return use(ctx, relation.value, path[0], outer)
        return row(ctx, relation, path[0])
    name = path[1].name
    found = relation.by_name.get(name.lower(), [])
    if len(found) > 1:
        raise ctx.error(f"Column name {name} is ambiguous", path[1])
    if relation.value is not None:
        return _fields(ctx, use(ctx, relation.value, path[0], outer), path[1:])
    if not found:
        inner = Scope([relation])
        raise ctx.error(
            f"Name {name} not found inside {path[0].name}{inner.suggestion(name)}", path[1]
        )
    return _fields(ctx, use(ctx, found[0], path[1], outer), path[2:])


def row(ctx: Context, relation: Relation, node: exp.Expression | None) -> Value:
    """A whole row as a STRUCT."""
    values = [use(ctx, column, node) for column in relation.columns]
    fields = [(c.name, v.sql) for c, v in zip(relation.columns, values, strict=True)]
    kind = Type("STRUCT", fields=tuple((c.name, c.type) for c in relation.columns))
    return Value(pack(fields), kind, items=tuple(values))


def _fields(ctx: Context, base: Value, names: list[exp.Expression]) -> Value:
    for name in names:
        base = field_of(ctx, base, name)
    return base


def field_of(ctx: Context, base: Value, name: exp.Expression) -> Value:
    """`base.name`."""
    if base.type == JSON:
        path = '$."' + name.name.replace('"', '\\"') + '"'
        return Value(f"json_extract({base.sql}, {literal(path)})", JSON)
    if base.type.name != "STRUCT":
        raise ctx.error(f"Cannot access field {name.name} on a value with type {base.type}", name)
    for index, (field, kind) in enumerate(base.type.fields):
        if field.lower() == name.name.lower():
            key = literal(struct_name(field, index))
            return Value(f"struct_extract({base.sql}, {key})", kind)
    raise ctx.error(f"Field name {name.name} does not exist in {base.type}", name)


def path_of(node: exp.Expression) -> list[exp.Expression]:
    """The identifiers of a column reference."""
    return list(node.parts) if isinstance(node, exp.Column) else [node]


def table_text(node: exp.Table) -> str:
    """A table's name as written, its parts joined by dots."""
    parts = [part.name for part in node.parts if isinstance(part, exp.Identifier)]
    if isinstance(node.this, exp.Dot):
        parts = [p.name for p in (node.args.get("catalog"), node.args.get("db")) if p]
        parts.append(node.this.sql("bigquery").replace("`", ""))
    return ".".join(parts)
