"""SELECT: its list, grouping, HAVING, QUALIFY, DISTINCT, ORDER BY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ..errors import BigQueryError
from ..schema import quoted
from . import ordering, sources
from .context import Context, Output
from .functions import aggregates
from .scopes import Column, Relation, Scope
from .types import BOOL, FLOAT64, INT64, Type, Value, literal, pack, struct_name


@dataclass
class Item:
    """One item of the SELECT list. `node` is None for a column that `*` brought."""

    name: str | None
    node: exp.Expression | None
    column: Column | None = None


def select(ctx: Context, node: exp.Select, names: bool, keep_order: bool) -> Output:
    """One SELECT; `ctx.scope` is what stands around it."""
    _refuse(ctx, node)
    source = sources.translate_from(ctx, node)
    inner = ctx.inside(scope=source.scope, windows=_windows(node))
    where = ""
    if node.args.get("where") is not None:
        from .expressions import translate_as

        clause = inner.inside(no_aggregates="WHERE clause", no_windows="WHERE clause")
        where = f" WHERE {translate_as(clause, node.args['where'].this, BOOL, 'WHERE clause')}"
    items = list(_items(inner, node))
    if not items:
        raise ctx.error("SELECT list must not be empty", node)
    group_sql, grouped = _group(inner, node, items)
    values = [_item_value(grouped, item) for item in items]
    having = _condition(grouped, node, "having", items, values)
    qualify = _condition(grouped, node, "qualify", items, values)
    if having and not group_sql and grouped.grouped is None:
        raise ctx.error("HAVING clause requires GROUP BY or aggregation", node.args["having"])
    output = _output(ctx, node, items, values, names)
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise ctx.not_played("DISTINCT ON", node)
    columns = output.columns(names and distinct is None)
    body = f"{source.sql}{where}{group_sql}{having}{qualify}"
    head = "SELECT DISTINCT " if distinct is not None else "SELECT "
    sql = f"{head}{columns}{body}"
    if distinct is not None:
        return _distinct(ctx, grouped, node, items, output, sql, names)
    sql += _order(grouped, node, items, output)
    if keep_order and not node.args.get("order"):
        sql += _array_order(node, source.scope, grouped)
    from .queries import limit

    sql += limit(inner, node)
    return replace(output.output, sql=sql)


_PLAYED = {
    "with_", "expressions", "from_", "joins", "where", "group", "having", "qualify", "windows",
    "distinct", "order", "limit", "offset", "kind",
}  # fmt: skip


def _refuse(ctx: Context, node: exp.Select) -> None:
    for key, value in node.args.items():
        if value and key not in _PLAYED:
            raise ctx.not_played(f"{key.upper().strip('_')} in SELECT", node)


def _windows(node: exp.Select) -> dict[str, exp.Expression]:
    return {w.this.name.lower(): w for w in node.args.get("windows") or []}


# The list ---------------------------------------------------------------------------------------


def _items(ctx: Context, node: exp.Select) -> Iterator[Item]:
    for item in node.expressions:
        star = item if isinstance(item, exp.Star) else None
        if isinstance(item, exp.Column | exp.Dot) and isinstance(
            item.this if isinstance(item, exp.Column) else item.expression, exp.Star
        ):
            yield from _star_of(ctx, item)
        elif star is not None:
            if not ctx.scope.relations:
                raise ctx.error("SELECT * must have a FROM clause", item)
            yield from _except_replace(ctx, star, list(ctx.scope.visible()))
        elif isinstance(item, exp.Alias):
            yield Item(item.alias, item.this)
        elif isinstance(item, exp.Column | exp.Dot):
            yield Item(item.name, item)
        else:
            yield Item(None, item)


def _star_of(ctx: Context, item: exp.Expression) -> Iterator[Item]:
    """`t.*` and `struct.*`."""
    from . import names

    if isinstance(item, exp.Column):
        star, path = item.this, [part for part in item.parts if part is not item.this]
        relation = ctx.scope.relation(path[0].name) if len(path) == 1 else None
        if relation is not None:
            yield from _except_replace(ctx, star, list(relation.columns))
            return
        base = names.resolve(ctx, path)
    else:
        from .expressions import translate

        star, base = item.expression, translate(ctx, item.this)
    if base.type.name != "STRUCT":
        raise ctx.error(f"Dot-star is not supported for type {base.type}", item)
    fields = [
        Column(name, kind, f"struct_extract({base.sql}, {literal(struct_name(name, i))})")
        for i, (name, kind) in enumerate(base.type.fields)
    ]
    yield from _except_replace(ctx, star, fields)


def _except_replace(ctx: Context, star: exp.Star, columns: list[Column]) -> Iterator[Item]:
    left_out = {e.name.lower(): e for e in star.args.get("except_") or []}
    replaced = {e.alias.lower(): e for e in star.args.get("replace") or []}
    if star.args.get("rename"):
        raise ctx.not_played("SELECT * RENAME", star)
    have = {c.name.lower() for c in columns}
    for name, node in {**left_out, **replaced}.items():
        if name not in have:
            word = "EXCEPT" if name in left_out else "REPLACE"
            shown = node.name if name in left_out else node.alias
            raise ctx.error(f"Column {shown} in SELECT * {word} list does not exist", node)
    for column in columns:
        name = column.name.lower()
        if name in replaced:
            yield Item(column.name, replaced[name].this)
        elif name not in left_out:
            yield Item(column.name or None, None, column)


def _item_value(ctx: Context, item: Item) -> Value:
    from . import names
    from .expressions import translate

    if item.column is not None:
        return names.use(ctx, item.column, None)
    return translate(ctx.inside(no_aggregates=""), item.node)


# Grouping ---------------------------------------------------------------------------------------


def _group(ctx: Context, node: exp.Select, items: list[Item]) -> tuple[str, Context]:
    """GROUP BY's SQL and the context in which the list and HAVING stand."""
    group = node.args.get("group")
    aggregates_there = any(aggregates_in(i.node) for i in items if i.node is not None)
    for key in ("having", "order", "qualify"):
        aggregates_there = aggregates_there or aggregates_in(node.args.get(key))
    if group is None:
        if not aggregates_there:
            return "", ctx
        return "", ctx.inside(grouped=frozenset())
    if any(group.args.get(key) for key in ("cube", "grouping_sets", "totals")):
        raise ctx.not_played("GROUP BY with CUBE or GROUPING SETS", group)
    clause = ctx.inside(no_aggregates="GROUP BY", no_windows="GROUP BY")
    keys: list[tuple[Value, exp.Expression | None]] = []
    if group.args.get("all"):
        keys = [
            (_item_value(clause, i), i.node)
            for i in items
            if i.node is None or not aggregates_in(i.node)
        ]
        words = [value.sql for value, _ in keys]
    else:
        words = []
        for expression in [*group.expressions, *(group.args.get("rollup") or [])]:
            rollup = isinstance(expression, exp.Rollup)
            if isinstance(expression, exp.Cube | exp.GroupingSets):
                raise ctx.not_played("GROUP BY with CUBE or GROUPING SETS", group)
            found = [
                _group_key(clause, part, items)
                for part in (expression.expressions if rollup else [expression])
            ]
            keys += found
            listed = ", ".join(value.sql for value, _ in found)
            words.append(f"ROLLUP ({listed})" if rollup else listed)
    for value, key_node in keys:
        if value.type.element or value.type.name == "JSON":
            raise ctx.error(
                f"Grouping by expressions of type {value.type} is not allowed", key_node or group
            )
    classes = frozenset(type(n) for _, n in keys if n is not None)
    grouped = ctx.inside(grouped=frozenset(v.sql for v, _ in keys), keys=classes)
    return (f" GROUP BY {', '.join(words)}" if words else ""), grouped


def _group_key(
    ctx: Context, node: exp.Expression, items: list[Item]
) -> tuple[Value, exp.Expression | None]:
    place = ordinal(ctx, node, len(items), "GROUP BY")
    item = items[place] if place is not None else _by_alias(node, items)
    if item is not None:
        return _item_value(ctx.inside(no_aggregates="GROUP BY"), item) if item.node is None else (
            _translated(ctx, item.node)
        ), item.node
    return _translated(ctx, node), node


def _translated(ctx: Context, node: exp.Expression) -> Value:
    from .expressions import translate

    return translate(ctx, node)


def _by_alias(node: exp.Expression, items: list[Item]) -> Item | None:
    """The item that a bare name means: an alias of the list goes before a column of FROM."""
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        return None
    named = [i for i in items if i.node is not None and (i.name or "").lower() == node.name.lower()]
    # A column selected under its own name is that column.
    return (
        named[0]
        if (len(named) == 1 and not isinstance(named[0].node, exp.Column))
        or (len(named) == 1 and named[0].node.name.lower() != node.name.lower())
        else None
    )


def ordinal(ctx: Context, node: exp.Expression, count: int, clause: str) -> int | None:
    """The place (from 0) that an integer in ORDER BY or GROUP BY names."""
    if not isinstance(node, exp.Literal) or node.is_string or not node.this.isdigit():
        return None
    number = int(node.this)
    if not 1 <= number <= count:
        raise ctx.error(
            f"{clause} is out of SELECT column number range: {number}"
            if clause == "GROUP BY"
            else f"{clause} column number item is out of range. Column numbers must be between 1 "
            f"and {count}; found {number}",
            node,
        )
    return number - 1


def aggregates_in(node: exp.Expression | None) -> bool:
    """Whether aggregate functions stand in an expression (not those of subqueries, or OVER)."""
    if node is None:
        return False
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        parts = [*node.this.expressions] if isinstance(node.this, exp.Anonymous) else [node.this]
        parts += [*(node.args.get("partition_by") or []), node.args.get("order")]
        return any(aggregates_in(p) for p in parts if p is not None)
    if isinstance(node, exp.Anonymous) and node.name.upper() in aggregates.NAMES:
        return True
    return any(aggregates_in(child) for child in node.iter_expressions())


def _condition(
    ctx: Context, node: exp.Select, key: str, items: list[Item], values: list[Value]
) -> str:
    """HAVING or QUALIFY; they see the list's aliases where FROM has no such column."""
    from .expressions import translate_as

    clause = node.args.get(key)
    if clause is None:
        return ""
    word = key.upper()
    aliases = tuple(
        Column(i.name, v.type, v.sql)
        for i, v in zip(items, values, strict=True)
        if i.name and i.node is not None and not ctx.scope.columns(i.name)
    )
    scope = Scope(
        [*ctx.scope.relations, Relation(None, aliases)], ctx.scope.parent, ctx.scope.merged
    )
    grouped = ctx.grouped
    if grouped is not None:
        grouped = grouped | {c.sql for c in aliases}
    inner = ctx.inside(
        scope=scope, grouped=grouped, no_windows="HAVING clause" if key == "having" else ""
    )
    return f" {word} {translate_as(inner, clause.this, BOOL, f'{word} clause')}"


# What comes out ---------------------------------------------------------------------------------


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
        raise ctx.not_played("SELECT AS VALUE as the outermost query", node)
    output = Output("", labels, tuple(v.type for v in values), value_table)
    shown = list(shown_names(ctx, labels, node)) if names else []
    if names:
        values = [_checked(v, n) for v, n in zip(values, shown, strict=True)]
    return _Columns(output, values, shown)


def _checked(value: Value, name: str) -> Value:
    """An ARRAY that leaves the query must not have NULLs in it."""
    if value.type.element is None or (
        value.items is not None and not any(item.null for item in value.items)
    ):
        return value
    return replace(value, sql=f"bq_no_nulls({value.sql}, {literal(name)})")


def shown_names(
    ctx: Context, labels: Sequence[str | None], node: exp.Expression | None
) -> Iterator[str]:
    """The columns' names in the result: f0_, f1_, ... for those without; twice is an error."""
    anonymous, seen = 0, set()
    for label in labels:
        if not label:
            label, anonymous = f"f{anonymous}_", anonymous + 1
        if label.lower() in seen:
            raise BigQueryError(
                "invalidQuery",
                f"Duplicate column names in the result are not supported. Found duplicate(s): {label}",
                "query",
            )
        seen.add(label.lower())
        yield label


def listed(ctx: Context, columns: Sequence[Column], output: Output, names: bool) -> str:
    """The columns of a wrapped query as a SELECT list."""
    if not names:
        return ", ".join(f"{c.sql} AS c{i + 1}" for i, c in enumerate(columns))
    shown = shown_names(ctx, output.names, None)
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
            raise ctx.not_played("ORDER BY ... WITH FILL", item)
        place = ordinal(ctx, item.this, len(items), "ORDER BY")
        if place is None:
            found = _by_alias(item.this, items)
            place = items.index(found) if found is not None else None
        if place is None or columns.output.value_table:
            keys.append(ordering.key(ordering.ordered(ctx, item), item))
            continue
        value = columns.values[place]
        ordering.check(ctx, value, item)
        if value.type == FLOAT64 and "random()" not in value.sql:
            keys.append(ordering.key(value, item))
        else:
            # By its place: what is not repeated is not computed twice (and RAND() not anew).
            keys.append(ordering.key(Value(str(place + 1), INT64), item))
    return f" ORDER BY {', '.join(keys)}"


def _array_order(node: exp.Select, scope: Scope, ctx: Context) -> str:
    """ARRAY(SELECT ... FROM UNNEST(array)) has the array's order."""
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
    """SELECT DISTINCT, with ORDER BY over what it gives."""
    from .queries import limit

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
    tail += limit(ctx, node)
    shown = listed(ctx, outputs, columns.output, names)
    return replace(columns.output, sql=f"SELECT {shown} FROM ({sql}) AS {alias}{tail}")
