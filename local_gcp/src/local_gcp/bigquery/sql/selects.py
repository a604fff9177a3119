"""SELECT: its list, grouping, HAVING, QUALIFY, DISTINCT, ORDER BY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.schema import quoted

from . import ordering, sources
from .context import Context, Output
from .dispatch import translate_as
from .grouping import by_alias, condition, group_by, ordinal
from .scopes import Column, Relation, Scope
from .select_list import Item, item_value, items_of
from .types import BOOL, FLOAT64, INT64, Type, Value, literal, pack


def select(ctx: Context, node: exp.Select, names: bool, keep_order: bool) -> Output:
    """One SELECT; `ctx.scope` is the outer scope."""
    _refuse(ctx, node)
    source = sources.translate_from(ctx, node)
    inner = ctx.inside(scope=source.scope, windows=_windows(node))
    where = ""
    if node.args.get("where") is not None:
        clause = inner.inside(no_aggregates="WHERE clause", no_windows="WHERE clause")
        where = f" WHERE {translate_as(clause, node.args['where'].this, BOOL, 'WHERE clause')}"
    items = list(items_of(inner, node))
    if not items:
        raise ctx.error("SELECT list must not be empty", node)
    group_sql, grouped = group_by(inner, node, items)
    values = [item_value(grouped, item) for item in items]
    having = condition(grouped, node, "having", items, values)
    qualify = condition(grouped, node, "qualify", items, values)
    if having and not group_sql and grouped.grouped is None:
        raise ctx.error("HAVING clause requires GROUP BY or aggregation", node.args["having"])
    output = _output(ctx, node, items, values, names)
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise ctx.not_emulated("DISTINCT ON", node)
    columns = output.columns(names and distinct is None)
    body = f"{source.sql}{where}{group_sql}{having}{qualify}"
    head = "SELECT DISTINCT " if distinct is not None else "SELECT "
    sql = f"{head}{columns}{body}"
    if distinct is not None:
        return _distinct(ctx, grouped, node, items, output, sql, names)
    sql += _order(grouped, node, items, output)
    if keep_order and not node.args.get("order"):
        sql += _array_order(node, source.scope, grouped)
    sql += ordering.limit(inner, node)
    return replace(output.output, sql=sql)


_EMULATED = {
    "with_", "expressions", "from_", "joins", "where", "group", "having", "qualify", "windows",
    "distinct", "order", "limit", "offset", "kind",
}  # fmt: skip


def _refuse(ctx: Context, node: exp.Select) -> None:
    for key, value in node.args.items():
        if value and key not in _EMULATED:
            raise ctx.not_emulated(f"{key.upper().strip('_')} in SELECT", node)


def _windows(node: exp.Select) -> dict[str, exp.Expression]:
    return {w.this.name.lower(): w for w in node.args.get("windows") or []}


@dataclass
class _Columns:
    output: Output
    values: list[Value]
    shown: list[str]

    def columns(self, names: bool) -> str:
        labels = self.shown if names else [f"c{i + 1}" for i in range(len(self.values))]
        pairs = zip(self.values, labels, strict=True)
        return ", ".join(f"{v.sql} AS {quoted(n) if names else n}" for v, n in pairs)


def _output(
    ctx: Context, node: exp.Select, items: list[Item], values: list[Value], names: bool
) -> _Columns:
    kind = (node.args.get("kind") or "").upper()
    labels = tuple(item.name for item in items)
    value_table = False
    if kind and not names:
        value_table = True
        if kind == "STRUCT":
            fields = [(n or "", v.sql) for n, v in zip(labels, values, strict=True)]
            types = tuple((n or "", v.type) for n, v in zip(labels, values, strict=True))
            values, labels = [Value(pack(fields), Type("STRUCT", fields=types))], (None,)
        elif len(values) != 1:
            raise ctx.error("SELECT AS VALUE query must have exactly one column", node)
    elif kind == "VALUE":
        raise ctx.not_emulated("SELECT AS VALUE as the outermost query", node)
    output = Output("", labels, tuple(v.type for v in values), value_table)
    shown = list(shown_names(labels)) if names else []
    if names:
        values = [_checked(v, n) for v, n in zip(values, shown, strict=True)]
    return _Columns(output, values, shown)


def _checked(value: Value, name: str) -> Value:
    """The value with a check: an ARRAY in the result must not contain NULL."""
    if value.type.element is None or (
        value.items is not None and not any(item.null for item in value.items)
    ):
        return value
    return replace(value, sql=f"bq_no_nulls({value.sql}, {literal(name)})")


def shown_names(labels: Sequence[str | None]) -> Iterator[str]:
    """The columns' names in the result, f0_, f1_, ... by default; duplicates are an error."""
    anonymous = 0
    seen: set[str] = set()
    for label in labels:
        if not label:
            label, anonymous = f"f{anonymous}_", anonymous + 1
        if label.lower() in seen:
            raise BigQueryError(
                "invalidQuery",
                "Duplicate column names in the result are not supported. "
                f"Found duplicate(s): {label}",
                "query",
            )
        seen.add(label.lower())
        yield label


def listed(ctx: Context, columns: Sequence[Column], output: Output, names: bool) -> str:
    """The columns of a wrapped query as a SELECT list."""
    if not names:
        return ", ".join(f"{c.sql} AS c{i + 1}" for i, c in enumerate(columns))
    shown = shown_names(output.names)
    return ", ".join(
        f"{_checked(c.value, n).sql} AS {quoted(n)}" for c, n in zip(columns, shown, strict=True)
    )


def _order(ctx: Context, node: exp.Select, items: list[Item], columns: _Columns) -> str:
    order = node.args.get("order")
    if order is None:
        return ""
    keys = []
    for item in order.expressions:
        if item.args.get("with_fill"):
            raise ctx.not_emulated("ORDER BY ... WITH FILL", item)
        place = ordinal(ctx, item.this, len(items), "ORDER BY")
        if place is None:
            found = by_alias(item.this, items)
            place = items.index(found) if found is not None else None
        if place is None or columns.output.value_table:
            keys.append(ordering.key(ordering.ordered(ctx, item), item))
            continue
        value = columns.values[place]
        ordering.check(ctx, value, item)
        if value.type == FLOAT64 and "random()" not in value.sql:
            keys.append(ordering.key(value, item))
        else:
            # By its index, so that the expression (also RAND()) is evaluated only once.
            keys.append(ordering.key(Value(str(place + 1), INT64), item))
    return f" ORDER BY {', '.join(keys)}"


def _array_order(node: exp.Select, scope: Scope, ctx: Context) -> str:
    """ORDER BY for ARRAY(SELECT ... FROM UNNEST(array)), which keeps the array's order."""
    source = node.args.get("from_")
    single = source is not None and isinstance(source.this, exp.Unnest)
    if not single or node.args.get("joins") or ctx.grouped is not None:
        return ""
    return f" ORDER BY {_ordinality(scope.relations[0])}"


def _ordinality(relation: Relation) -> str:
    column = relation.value or relation.columns[0]
    return f"{column.sql.partition('.')[0]}.o"


def _distinct(
    ctx: Context,
    grouped: Context,
    node: exp.Select,
    items: list[Item],
    columns: _Columns,
    sql: str,
    names: bool,
) -> Output:
    """SELECT DISTINCT, with ORDER BY over its result."""
    for value, item in zip(columns.values, items, strict=False):
        if value.type.element or value.type.name == "JSON":
            raise ctx.error(
                f"Column {item.name or ''} of type {value.type} cannot be used in SELECT DISTINCT",
                item.node,
            )
    alias = ctx.job.alias()
    outputs = tuple(
        Column(n or "", t, f"{alias}.c{i + 1}")
        for i, (n, t) in enumerate(zip(columns.output.names, columns.output.types, strict=True))
    )
    by_sql = {v.sql: c for v, c in zip(columns.values, outputs, strict=True)}
    by_name = {c.name.lower(): c for c in outputs if c.name}
    keys = []
    order = node.args.get("order")
    for item in order.expressions if order is not None else []:
        place = ordinal(ctx, item.this, len(outputs), "ORDER BY")
        column = outputs[place] if place is not None else None
        if column is None and isinstance(item.this, exp.Column) and not item.this.table:
            column = by_name.get(item.this.name.lower())
        if column is None:
            column = by_sql.get(ordering.ordered(grouped, item).sql)
        if column is None:
            raise ctx.error(
                "ORDER BY clause expression references a column which is not visible after "
                "SELECT DISTINCT",
                item,
            )
        ordering.check(ctx, column.value, item)
        keys.append(ordering.key(column.value, item))
    tail = f" ORDER BY {', '.join(keys)}" if keys else ""
    tail += ordering.limit(ctx, node)
    shown = listed(ctx, outputs, columns.output, names)
    return replace(columns.output, sql=f"SELECT {shown} FROM ({sql}) AS {alias}{tail}")
