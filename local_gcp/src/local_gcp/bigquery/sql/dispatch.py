"""From a kind of syntax node to the function that translates it.

A node without a function is refused by name: nothing passes through untranslated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from .context import Context
from .types import Type, Value, coerce, supertype

_HANDLERS: dict[type[exp.Expression], Callable[[Context, exp.Expression], Value]] = {}


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
        raise ctx.not_played(f"{type(node).__name__} expressions: {node.sql('bigquery')}", node)
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
