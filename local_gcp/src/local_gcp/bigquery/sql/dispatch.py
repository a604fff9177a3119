"""From a kind of syntax node to the function that translates it.

A node without a function is refused by name: nothing passes through untranslated.

An expression may hold a query, and a query holds expressions. So both are translated through here:
the modules that do it register their functions and depend on this one, not on each other.
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
    """An expression; BigQueryError when it is wrong or cannot be translated faithfully."""
    if ctx.grouped and type(node) in ctx.keys:
        key = translate(ctx.inside(grouped=None, no_aggregates=""), node)
        if key.sql in ctx.grouped:
            return key
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise ctx.not_emulated(f"{type(node).__name__} expressions: {node.sql('bigquery')}", node)
    return handler(ctx, node)


def translate_as(ctx: Context, node: exp.Expression, to: Type, what: str) -> str:
    """An expression's SQL, coerced; `what` names the place in the error."""
    value = translate(ctx, node)
    sql = coerce(value, to)
    if sql is None:
        raise ctx.error(f"{what} should return type {to}, but returns {value.type}", node)
    return sql


def common(ctx: Context, nodes: Sequence[exp.Expression], what: str) -> tuple[list[str], Type]:
    """Expressions coerced to their common type; `what` names the construct in the error."""
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
    """A query in what stands around it (`ctx.scope` is the outer scope).

    `names`: give the columns their own names, as the outermost query must.
    `keep_order`: rows of an UNNEST come in the array's order, as ARRAY(SELECT ...) has them.
    """
    return _QUERY[0](ctx, node, names, keep_order)


def subquery(ctx: Context, node: exp.Expression, keep_order: bool = False) -> Output:
    """A query inside an expression: it sees the columns of the query around it."""
    if isinstance(node, exp.Subquery) and not node.args.get("alias"):
        node = node.this if not modified(node) else node
    return query(ctx, node, keep_order=keep_order)


def modified(node: exp.Expression) -> bool:
    """Whether a query has clauses of its own around it."""
    return any(node.args.get(key) for key in ("order", "limit", "offset", "with_"))
