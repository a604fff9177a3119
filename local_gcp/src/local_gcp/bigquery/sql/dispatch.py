"""Dispatches syntax nodes to the functions that translate them.

A node without a function is refused by name; nothing remains untranslated.

An expression may contain a query, and a query contains expressions. The modules that translate
them register their functions here, so they depend on this module and not on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from .context import Context, Output
from .types import Type, Value, coerce, supertype

_HANDLERS: dict[type[exp.Expression], Callable[[Context, Any], Value]] = {}
_QUERY: list[Callable[..., Output]] = []


def handles(*kinds: type[exp.Expression]) -> Callable:
    """Register the function for kinds of nodes."""

    def register(function: Callable) -> Callable:
        _HANDLERS.update(dict.fromkeys(kinds, function))
        return function

    return register


def translate(ctx: Context, node: exp.Expression) -> Value:
    """Translate an expression; raises BigQueryError if it is wrong or not emulated exactly."""
    if ctx.grouped and type(node) in ctx.keys:
        key = translate(ctx.inside(grouped=None, no_aggregates=""), node)
        if key.sql in ctx.grouped:
            return key
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise ctx.not_emulated(f"{type(node).__name__} expressions: {node.sql('bigquery')}", node)
    return handler(ctx, node)


def translate_as(ctx: Context, node: exp.Expression, to: Type, what: str) -> str:
    """An expression's SQL, coerced to a type; errors name the place, `what`."""
    value = translate(ctx, node)
    sql = coerce(value, to)
    if sql is None:
        raise ctx.error(f"{what} should return type {to}, but returns {value.type}", node)
    return sql


def common(ctx: Context, nodes: Sequence[exp.Expression], what: str) -> tuple[list[str], Type]:
    """Expressions coerced to their common type; errors name the construct, `what`."""
    values = [translate(ctx, node) for node in nodes]
    kind = supertype(values)
    if kind is None:
        listed = ", ".join(str(v.type) for v in values)
        raise ctx.error(f"No matching signature for {what} for argument types: {listed}", nodes[0])
    return [coerce(v, kind) for v in values], kind


def handles_queries(function: Callable[..., Output]) -> Callable[..., Output]:
    """Register the function for queries."""
    _QUERY[:] = [function]
    return function


def query(
    ctx: Context, node: exp.Expression, names: bool = False, keep_order: bool = False
) -> Output:
    """Translate a query; `ctx.scope` is the outer scope.

    `names`: keep the columns' names, as the outermost query must.
    `keep_order`: return the rows of an UNNEST in the array's order, as ARRAY(SELECT ...) must.
    """
    return _QUERY[0](ctx, node, names, keep_order)


def subquery(ctx: Context, node: exp.Expression, keep_order: bool = False) -> Output:
    """A query inside an expression, which can use the columns of the outer query."""
    if isinstance(node, exp.Subquery) and not node.args.get("alias"):
        node = node.this if not modified(node) else node
    return query(ctx, node, keep_order=keep_order)


def modified(node: exp.Expression) -> bool:
    """Return whether a query has WITH, ORDER BY, LIMIT or OFFSET around it."""
    return any(node.args.get(key) for key in ("order", "limit", "offset", "with_"))
