"""GROUP BY, HAVING, QUALIFY, and the names of the SELECT list that they may use."""

from __future__ import annotations

from sqlglot import exp

from .context import Context
from .dispatch import translate, translate_as
from .functions import aggregates
from .scopes import Column, Relation, Scope
from .select_list import Item, item_value
from .types import BOOL, Value


def group_by(ctx: Context, node: exp.Select, items: list[Item]) -> tuple[str, Context]:
    """GROUP BY's SQL, and the context of the SELECT list and HAVING."""
    group = node.args.get("group")
    aggregates_there = any(aggregates_in(i.node) for i in items if i.node is not None)
    for key in ("having", "order", "qualify"):
        aggregates_there = aggregates_there or aggregates_in(node.args.get(key))
    if group is None:
        if not aggregates_there:
            return "", ctx
        return "", ctx.inside(grouped=frozenset())
    if any(group.args.get(key) for key in ("cube", "grouping_sets", "totals")):
        raise ctx.not_emulated("GROUP BY with CUBE or GROUPING SETS", group)
    clause = ctx.inside(no_aggregates="GROUP BY", no_windows="GROUP BY")
    keys: list[tuple[Value, exp.Expression | None]] = []
    if group.args.get("all"):
        keys = [
            (item_value(clause, i), i.node)
            for i in items
            if i.node is None or not aggregates_in(i.node)
        ]
        words = [value.sql for value, _ in keys]
    else:
        words = []
        for expression in [*group.expressions, *(group.args.get("rollup") or [])]:
            rollup = isinstance(expression, exp.Rollup)
            if isinstance(expression, exp.Cube | exp.GroupingSets):
                raise ctx.not_emulated("GROUP BY with CUBE or GROUPING SETS", group)
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
    item = items[place] if place is not None else by_alias(node, items)
    if item is None:
        return translate(ctx, node), node
    if item.node is None:
        return item_value(ctx, item), None
    return translate(ctx, item.node), item.node


def by_alias(node: exp.Expression, items: list[Item]) -> Item | None:
    """The item with this name: an alias in the list precedes a column of FROM."""
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        return None
    named = [i for i in items if i.node is not None and (i.name or "").lower() == node.name.lower()]
    if len(named) != 1:
        return None
    column = named[0].node
    itself = isinstance(column, exp.Column) and column.name.lower() == node.name.lower()
    return None if itself else named[0]


def ordinal(ctx: Context, node: exp.Expression, count: int, clause: str) -> int | None:
    """The index (from 0) that an integer in ORDER BY or GROUP BY names."""
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
    """Return whether an expression contains aggregate functions, except in subqueries and with
    OVER.
    """
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


def condition(
    ctx: Context, node: exp.Select, key: str, items: list[Item], values: list[Value]
) -> str:
    """HAVING or QUALIFY, which can use the list's aliases unless FROM has such a column."""
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
