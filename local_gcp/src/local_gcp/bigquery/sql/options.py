"""OPTIONS(name = value, ...) as plain Python values."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from sqlglot import exp

from .context import Context
from .dispatch import translate


def of_properties(ctx: Context, properties: list[exp.Expression]) -> dict[str, Any]:
    """The options in a statement's properties; names in lower case."""
    found: dict[str, Any] = {}
    for item in properties:
        if not isinstance(item, exp.Property) or item.args.get("value") is None:
            raise ctx.not_emulated(f"{type(item).__name__} in OPTIONS", item)
        name = item.name.lower()
        if name in found:
            raise ctx.error(f"Duplicate option specified for '{name}'", item)
        found[name] = plain(ctx, item.args["value"])
    return found


def plain(ctx: Context, node: exp.Expression) -> Any:
    """A constant expression as a Python value: numbers, text, booleans, lists, structs as dicts."""
    if isinstance(node, exp.Paren):
        return plain(ctx, node.this)
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Array):
        return [plain(ctx, item) for item in node.expressions]
    if isinstance(node, exp.Tuple):
        return tuple(plain(ctx, item) for item in node.expressions)
    if isinstance(node, exp.Anonymous) and node.name.upper() == "STRUCT":
        items = node.expressions
        if all(isinstance(i, exp.Alias) for i in items):
            return {i.alias: plain(ctx, i.this) for i in items}
        return tuple(plain(ctx, i) for i in items)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        return _typed(ctx, node)
    value = translate(ctx, node)
    if value.text is not None:
        return value.text == "true" if value.type.name == "BOOL" and value.text in (
            "true", "false") else value.text  # fmt: skip
    if value.items is not None:
        return [item.text for item in value.items]
    raise ctx.not_emulated(f"options that are not literals: {node.sql('bigquery')}", node)


def _typed(ctx: Context, node: exp.Cast) -> Any:
    """DATE '2024-01-01', TIMESTAMP '...': as Python dates and times."""
    kind, text = node.args["to"].this.name, node.this.this
    try:
        if kind == "DATE":
            return date.fromisoformat(text)
        if kind in ("TIMESTAMPTZ", "TIMESTAMP", "DATETIME"):
            moment = datetime.fromisoformat(text.replace(" UTC", "+00:00"))
            utc = kind == "TIMESTAMPTZ" and moment.tzinfo is None
            return moment.replace(tzinfo=UTC) if utc else moment
    except ValueError:
        raise ctx.error(f"Invalid {kind.lower()}: '{text}'", node) from None
    raise ctx.not_emulated(f"options of type {node.args['to'].sql('bigquery')}", node)
