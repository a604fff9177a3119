"""PIVOT, as one conditional aggregate per value. UNPIVOT is refused.

https://cloud.google.com/bigquery/docs/reference/standard-sql/query-syntax#pivot_operator
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from .context import Context, Output
from .expressions import translate
from .grouping import aggregates_in
from .scopes import Relation, Scope
from .sources import of_output


def pivoted(
    ctx: Context, sql: str, relation: Relation, pivots: Sequence[exp.Pivot]
) -> tuple[str, Relation]:
    """`item PIVOT(AGGREGATE(x) FOR column IN (value AS name, ...))` as an item of FROM."""
    if len(pivots) != 1:
        raise ctx.not_played("several PIVOT operators after one another", pivots[1])
    pivot = pivots[0]
    if pivot.args.get("unpivot"):
        raise ctx.not_played("UNPIVOT", pivot)
    (values,) = pivot.args["fields"]
    if not isinstance(values, exp.In) or not values.expressions:
        raise ctx.not_played(f"PIVOT ... FOR {values.sql('bigquery')}", pivot)
    scope = Scope([relation], parent=ctx.scope.parent)
    inner = ctx.inside(scope=scope, grouped=None, no_aggregates="", no_windows="PIVOT")
    used = {
        name.name.lower()
        for part in (values.this, *pivot.expressions)
        for name in part.find_all(exp.Column)
    }
    keys = [c for c in relation.columns if c.name.lower() not in used]
    for column in keys:
        if column.table:
            ctx.job.read(column.table, column.name)
    names: list[str | None] = [c.name for c in keys]
    found = [c.value for c in keys]
    for item in values.expressions:
        label, value = _value(item)
        for aggregate in pivot.expressions:
            names.append("_".join(filter(None, [aggregate.alias, label])))
            found.append(translate(inner, _where(ctx, aggregate.unalias(), values.this, value)))
    columns = ", ".join(f"{v.sql} AS c{i + 1}" for i, v in enumerate(found))
    group = f" GROUP BY {', '.join(c.sql for c in keys)}" if keys else ""
    output = Output(
        f"SELECT {columns} FROM {sql}{group}", tuple(names), tuple(v.type for v in found)
    )
    return of_output(ctx, output, None)


def _value(item: exp.Expression) -> tuple[str, exp.Expression]:
    """A value's name in the columns, and the value."""
    if isinstance(item, exp.PivotAlias | exp.Alias):
        alias = item.args["alias"]
        return alias.name, item.this
    if isinstance(item, exp.Literal):
        text = item.this
        return (text if item.is_string else f"_{text}".replace(".", "_point_")), item
    if isinstance(item, exp.Boolean):
        return str(bool(item.this)).lower(), item
    return item.sql("bigquery"), item


def _where(
    ctx: Context, call: exp.Expression, column: exp.Expression, value: exp.Expression
) -> exp.Expression:
    """The aggregate over the rows that have the value."""
    if not isinstance(call, exp.Anonymous) or not aggregates_in(call):
        raise ctx.error("PIVOT expression must be an aggregate function call", call)
    test = exp.EQ(this=column.copy(), expression=value.copy())
    if len(call.expressions) == 1 and isinstance(call.expressions[0], exp.Star):
        return exp.Anonymous(this="COUNTIF", expressions=[test])
    if call.name.upper() not in _NULL_IGNORING:
        raise ctx.not_played(f"{call.name.upper()} in PIVOT", call)
    first, *rest = call.expressions
    if isinstance(first, exp.Distinct):
        (argument,) = first.expressions
        first = exp.Distinct(
            expressions=[exp.If(this=test, true=argument.copy(), false=exp.Null())]
        )
    else:
        first = exp.If(this=test, true=first.copy(), false=exp.Null())
    return exp.Anonymous(this=call.this, expressions=[first, *rest])


# Aggregates for which a NULL is as if the row were not there.
_NULL_IGNORING = frozenset(
    {"SUM", "AVG", "MIN", "MAX", "COUNT", "COUNTIF", "LOGICAL_AND", "LOGICAL_OR", "STDDEV",
     "VARIANCE", "APPROX_COUNT_DISTINCT", "STRING_AGG"}
)  # fmt: skip
