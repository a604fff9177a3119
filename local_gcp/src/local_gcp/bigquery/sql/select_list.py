"""The SELECT list: its items, with stars expanded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from . import names
from .context import Context
from .dispatch import translate
from .scopes import Column
from .types import Value, literal, struct_name


@dataclass
class Item:
    """An item of the SELECT list. `node`: None for a column of `*`."""

    name: str | None
    node: exp.Expression | None
    column: Column | None = None


def items_of(ctx: Context, node: exp.Select) -> Iterator[Item]:
    """The items, with stars expanded."""
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
    if isinstance(item, exp.Column):
        star, path = item.this, [part for part in item.parts if part is not item.this]
        relation = ctx.scope.relation(path[0].name) if len(path) == 1 else None
        if relation is not None:
            yield from _except_replace(ctx, star, list(relation.columns))
            return
        base = names.resolve(ctx, path)
    else:
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
        raise ctx.not_emulated("SELECT * RENAME", star)
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


def item_value(ctx: Context, item: Item) -> Value:
    """An item as an expression."""
    if item.column is not None:
        return names.use(ctx, item.column, None)
    return translate(ctx.inside(no_aggregates=""), item.node)
