"""ORDER BY and LIMIT. NULLs are the smallest values, then NaN, then the numbers."""

from __future__ import annotations

from sqlglot import exp

from .context import Context
from .dispatch import translate
from .types import FLOAT64, INT64, Value


def key(value: Value, node: exp.Ordered, nan: bool = True) -> str:
    """An ORDER BY item for DuckDB; two for FLOAT64."""
    descending = bool(node.args.get("desc"))
    nulls_first = node.args.get("nulls_first")
    if nulls_first is None:
        nulls_first = not descending
    tail = f"{'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
    if value.type == FLOAT64 and nan and "random()" not in value.sql:
        # DuckDB sorts NaN as the greatest number, BigQuery as the least.
        return f"(NOT isnan({value.sql})) {tail}, {value.sql} {tail}"
    return f"{value.sql} {tail}"


def keys(ctx: Context, order: exp.Order, nan: bool = True) -> list[str]:
    """The items of an ORDER BY in a call or a window."""
    return [key(ordered(ctx, item), item, nan) for item in order.expressions]


def ordered(ctx: Context, item: exp.Ordered) -> Value:
    """The expression of an item; raises an error for types without order."""
    value = translate(ctx, item.this)
    check(ctx, value, item)
    return value


def check(ctx: Context, value: Value, node: exp.Expression) -> None:
    """Raise an error for types without order."""
    if value.type.element or value.type.name in ("STRUCT", "JSON"):
        raise ctx.error(f"ORDER BY does not support expressions of type {value.type}", node)


def limit(ctx: Context, node: exp.Expression) -> str:
    """LIMIT and OFFSET: integer literals or parameters."""
    sql = ""
    for key, word in (("limit", "LIMIT"), ("offset", "OFFSET")):
        clause = node.args.get(key)
        if clause is None:
            continue
        if not isinstance(clause, exp.Limit | exp.Offset):
            raise ctx.not_emulated(f"{type(clause).__name__} clause", clause)
        value = translate(ctx, clause.expression)
        if value.type != INT64 or not value.literal or value.null:
            raise ctx.error(f"{word} expects an integer literal or parameter", clause)
        if isinstance(value.text, int) and value.text < 0:
            raise ctx.error(f"{word} expects a non-negative integer literal or parameter", clause)
        sql += f" {word} {value.sql}"
    return sql
