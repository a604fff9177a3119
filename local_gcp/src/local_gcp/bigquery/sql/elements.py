"""ARRAY(SELECT ... FROM UNNEST(array)) and EXISTS over one array, by DuckDB's functions of lists.

As a subquery, DuckDB joins the elements of all rows with the rows again, and holds them all for it:
10 million rows of a few elements take gigabytes. A function of lists reads one row at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from . import sources
from .context import Context
from .dispatch import translate, translate_as
from .grouping import aggregates_in
from .scopes import Scope
from .types import BOOL, Value, array_of

_CLAUSES = {"expressions", "from_", "where", "order"}
# What needs all elements together, or what DuckDB refuses in a lambda.
_NOT_ALONE = (exp.Query, exp.Window, exp.Star)


@dataclass(frozen=True)
class _Elements:
    """An array's SQL, and of a lambda for each element its parameters, condition and context."""

    array: str
    parameters: str
    condition: str | None
    ctx: Context


def array(ctx: Context, node: exp.Expression) -> Value | None:
    """ARRAY(node) of a query over the elements of one array; None for other queries."""
    found = _elements(ctx, node)
    if found is None:
        return None
    value = translate(found.ctx, node.expressions[0].unalias())
    if value.type.element is not None or _has_query(value.sql):
        return None
    condition = found.condition
    if condition is None:
        sql = f"list_transform({found.array}, lambda {found.parameters}: {value.sql})"
        return Value(sql, array_of(value.type))
    # Not computed where the condition does not hold: it may keep an error away.
    kept = f"CASE WHEN {condition} THEN {value.sql} END"
    pair = f"{{'kept': {condition}, 'value': {kept}}}"
    pairs = f"list_transform({found.array}, lambda {found.parameters}: {pair})"
    element = ctx.job.alias()
    kept = f"list_filter({pairs}, lambda {element}: {element}.kept)"
    sql = f"list_transform({kept}, lambda {element}: {element}.value)"
    return Value(sql, array_of(value.type))


def exists(ctx: Context, node: exp.Expression) -> Value | None:
    """EXISTS(node) of a query over the elements of one array; None for other queries."""
    found = _elements(ctx, node)
    if found is None:
        return None
    kept = found.array
    if found.condition is not None:
        kept = f"list_filter({kept}, lambda {found.parameters}: {found.condition})"
    return Value(f"(len({kept}) > 0)", BOOL)


def _elements(ctx: Context, node: exp.Expression) -> _Elements | None:
    if not _of_one_array(node) or ctx.grouped is not None:
        return None
    unnest, where = node.args["from_"].this, node.args.get("where")
    element, place = ctx.job.alias(), ctx.job.alias()
    values, relation = sources.elements(ctx, unnest, element, place)
    inner = ctx.inside(
        scope=Scope([relation], parent=ctx.scope),
        no_aggregates="a subquery of an array's elements",
        no_windows="a subquery of an array's elements",
    )
    condition = None
    if where is not None:
        condition = translate_as(inner, where.this, BOOL, "WHERE clause")
        if _has_query(condition):
            return None
    return _Elements(f"coalesce({values}, [])", f"{element}, {place}", condition, inner)


def _of_one_array(node: exp.Expression) -> bool:
    """Whether a query selects one value of each element of an array, in the array's order."""
    if not isinstance(node, exp.Select) or len(node.expressions) != 1:
        return False
    if any(value and key not in _CLAUSES for key, value in node.args.items()):
        return False
    source, order = node.args.get("from_"), node.args.get("order")
    if source is None or not isinstance(source.this, exp.Unnest) or source.this.args.get("joins"):
        return False
    parts = [*node.expressions, *filter(None, [node.args.get("where")])]
    if any(part.find(*_NOT_ALONE) or aggregates_in(part) for part in parts):
        return False
    return order is None or _keeps_the_order(order, source.this.args.get("offset"), node)


def _keeps_the_order(order: exp.Order, offset: exp.Expression | None, node: exp.Select) -> bool:
    """Whether ORDER BY is by the elements' places."""
    (item, *others), (selected,) = order.expressions, node.expressions
    by = item.this
    if others or item.args.get("desc") or not isinstance(by, exp.Column) or by.table:
        return False
    name = by.name.lower()
    if not isinstance(offset, exp.Expression) or name != offset.name.lower():
        return False
    return bool(name != selected.alias.lower())


def _has_query(sql: str) -> bool:
    return "SELECT" in sql
