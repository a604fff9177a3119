"""Aggregate functions, also as analytic ones: `{over}` in a template is the OVER clause.

https://cloud.google.com/bigquery/docs/reference/standard-sql/aggregate_functions
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from local_gcp.bigquery.sql.context import Context
from local_gcp.bigquery.sql.dispatch import translate
from local_gcp.bigquery.sql.ordering import keys
from local_gcp.bigquery.sql.types import (
    BYTES,
    FLOAT64,
    INT64,
    STRING,
    Type,
    Value,
    array_of,
    coerce,
    literal,
)

from .signatures import apply, no_signature, table

# `{distinct}` and `{order}` stand inside the call, `{filter}` and `{over}` behind it.
SIGNATURES = table("""
COUNT(T) -> INT64 = count({distinct}{0}){filter}{over}
COUNTIF(BOOL) -> INT64 = CAST(coalesce(count_if({distinct}{0}){filter}{over}, 0) AS BIGINT)
SUM(INT64) -> INT64 = CAST(sum({distinct}{0}){filter}{over} AS BIGINT)
SUM(FLOAT64) -> FLOAT64 = sum({distinct}{0}){filter}{over}
SUM(NUMERIC) -> NUMERIC = CAST(sum({distinct}{0}){filter}{over} AS DECIMAL(38,9))
AVG(FLOAT64) -> FLOAT64 = avg({distinct}{0}){filter}{over}
AVG(NUMERIC) -> NUMERIC =
    bq_numeric_divide(CAST(sum({distinct}{0}){filter}{over} AS DECIMAL(38,9)),
    CAST(nullif(count({distinct}{0}){filter}{over}, 0) AS DECIMAL(38,9)))
MAX(T) -> T = max({0}){filter}{over}
MIN(T) -> T = min({0}){filter}{over}
ANY_VALUE(T) -> T = first({0}){filter}{over}
MAX_BY(T, FLOAT64) -> T = arg_max({0}, {1}){filter}{over}
MIN_BY(T, FLOAT64) -> T = arg_min({0}, {1}){filter}{over}
MAX_BY(T, STRING) -> T = arg_max({0}, {1}){filter}{over}
MIN_BY(T, STRING) -> T = arg_min({0}, {1}){filter}{over}
MAX_BY(T, DATE) -> T = arg_max({0}, {1}){filter}{over}
MIN_BY(T, DATE) -> T = arg_min({0}, {1}){filter}{over}
MAX_BY(T, TIMESTAMP) -> T = arg_max({0}, {1}){filter}{over}
MIN_BY(T, TIMESTAMP) -> T = arg_min({0}, {1}){filter}{over}
LOGICAL_AND(BOOL) -> BOOL = bool_and({0}){filter}{over}
LOGICAL_OR(BOOL) -> BOOL = bool_or({0}){filter}{over}
BIT_AND(INT64) -> INT64 = bit_and({0}){filter}{over}
BIT_OR(INT64) -> INT64 = bit_or({0}){filter}{over}
BIT_XOR(INT64) -> INT64 = bit_xor({distinct}{0}){filter}{over}
APPROX_COUNT_DISTINCT(T) -> INT64 = approx_count_distinct({0}){filter}{over}
CORR(FLOAT64, FLOAT64) -> FLOAT64 =
    CASE WHEN regr_count({0}, {1}){filter}{over} > 1 THEN corr({0}, {1}){filter}{over} END
COVAR_POP(FLOAT64, FLOAT64) -> FLOAT64 = covar_pop({0}, {1}){filter}{over}
COVAR_SAMP(FLOAT64, FLOAT64) -> FLOAT64 = covar_samp({0}, {1}){filter}{over}
STDDEV(FLOAT64) -> FLOAT64 = stddev_samp({distinct}{0}){filter}{over}
STDDEV_SAMP(FLOAT64) -> FLOAT64 = stddev_samp({distinct}{0}){filter}{over}
STDDEV_POP(FLOAT64) -> FLOAT64 = stddev_pop({distinct}{0}){filter}{over}
VARIANCE(FLOAT64) -> FLOAT64 = var_samp({distinct}{0}){filter}{over}
VAR_SAMP(FLOAT64) -> FLOAT64 = var_samp({distinct}{0}){filter}{over}
VAR_POP(FLOAT64) -> FLOAT64 = var_pop({distinct}{0}){filter}{over}
GROUPING(T) -> INT64 = CAST(grouping({0}) AS BIGINT)
""")
SPECIAL = ("ARRAY_AGG", "STRING_AGG", "ARRAY_CONCAT_AGG", "APPROX_QUANTILES", "APPROX_TOP_COUNT")
NAMES = frozenset({*SIGNATURES, *SPECIAL})
_ORDERED = ("ARRAY_AGG", "STRING_AGG", "ARRAY_CONCAT_AGG")


@dataclass
class Modifiers:
    """Modifiers of the arguments of an aggregate function."""

    distinct: bool = False
    nulls: str | None = None  # IGNORE or RESPECT
    order: exp.Order | None = None
    limit: exp.Expression | None = None


def call(ctx: Context, node: exp.Anonymous, over: str = "") -> Value:
    """An aggregate function; `over` is a translated OVER clause."""
    name = node.name.upper()
    if ctx.no_aggregates and not over:
        raise ctx.error(f"Aggregate function {name} not allowed in {ctx.no_aggregates}", node)
    if not over:
        inner = ctx.inside(
            grouped=None, no_aggregates="aggregate function", no_windows="aggregate function"
        )
    else:
        inner = ctx.inside(no_windows="analytic function")
    nodes, modifiers = unwrap(ctx, node)
    if not nodes:
        raise ctx.error(
            f"No matching signature for aggregate function {name} with no arguments", node
        )
    if len(nodes) == 1 and isinstance(nodes[0], exp.Star):
        if name != "COUNT" or modifiers.distinct:
            raise ctx.error(f"Argument * can only be used in COUNT(*), not in {name}", node)
        return Value(f"count(*){over}", INT64)
    values = [translate(inner, n) for n in nodes]
    if modifiers.order and name not in _ORDERED:
        raise ctx.error(f"Aggregate function {name} does not support ORDER BY in arguments", node)
    if modifiers.limit is not None and name not in _ORDERED:
        raise ctx.error(f"Aggregate function {name} does not support LIMIT in arguments", node)
    if name in SPECIAL:
        return _special(inner, node, name, values, modifiers, over)
    if modifiers.nulls and name != "ANY_VALUE":
        raise ctx.error(f"IGNORE NULLS and RESPECT NULLS are not allowed for {name}", node)
    return _plain(ctx, node, name, values, modifiers, over)


def _plain(
    ctx: Context,
    node: exp.Anonymous,
    name: str,
    values: list[Value],
    modifiers: Modifiers,
    over: str,
) -> Value:
    found = apply(ctx, name, SIGNATURES[name], values, node)
    argument = values[0].sql
    filtered = ""
    if name == "ANY_VALUE" and modifiers.nulls == "IGNORE":
        filtered = f" FILTER (WHERE {argument} IS NOT NULL)"
    if name in ("MIN", "MAX") and (found.type.element or found.type.name in ("STRUCT", "JSON")):
        raise no_signature(ctx, name, values, node)
    sql = found.sql.replace("{distinct}", "DISTINCT " if modifiers.distinct else "")
    sql = sql.replace("{filter}", filtered).replace("{over}", over)
    if name == "MIN" and found.type == FLOAT64:
        sql = (
            f"CASE WHEN bool_or(isnan({argument})){over} THEN CAST('nan' AS DOUBLE) ELSE {sql} END"
        )
    return Value(sql, found.type)


def unwrap(ctx: Context, node: exp.Anonymous) -> tuple[list[exp.Expression], Modifiers]:
    """The arguments, and separately DISTINCT, IGNORE NULLS, ORDER BY and LIMIT."""
    modifiers = Modifiers()
    nodes: list[exp.Expression] = []
    for argument in node.expressions:
        while True:
            if isinstance(argument, exp.Limit):
                modifiers.limit, argument = argument.expression, argument.this
            elif isinstance(argument, exp.Order):
                modifiers.order, argument = argument, argument.this
            elif isinstance(argument, exp.IgnoreNulls | exp.RespectNulls):
                ignore = isinstance(argument, exp.IgnoreNulls)
                modifiers.nulls, argument = ("IGNORE" if ignore else "RESPECT"), argument.this
            elif isinstance(argument, exp.Distinct):
                modifiers.distinct = True
                nodes.extend(argument.expressions)
                break
            elif isinstance(argument, exp.HavingMax):
                raise ctx.not_emulated(f"HAVING MAX in {node.name.upper()}", node)
            else:
                nodes.append(argument)
                break
    return nodes, modifiers


def _special(
    ctx: Context,
    node: exp.Anonymous,
    name: str,
    values: list[Value],
    modifiers: Modifiers,
    over: str,
) -> Value:
    value = values[0]
    distinct = "DISTINCT " if modifiers.distinct else ""
    order = ""
    if modifiers.order is not None:
        # With DISTINCT, DuckDB requires the same expression, so the key for NaN is left out.
        order = " ORDER BY " + ", ".join(keys(ctx, modifiers.order, nan=not modifiers.distinct))
    present = f" FILTER (WHERE {value.sql} IS NOT NULL)"
    limit = ""
    if modifiers.limit is not None:
        limit = f"[1:{int(modifiers.limit.this)}]"
    if name == "ARRAY_AGG":
        if value.type.element:
            raise ctx.error("The argument to ARRAY_AGG must not be an array type", node)
        filtered = present if modifiers.nulls == "IGNORE" else ""
        return Value(
            f"(list({distinct}{value.sql}{order}){filtered}{over}){limit}", array_of(value.type)
        )
    if name == "ARRAY_CONCAT_AGG":
        if value.type.element is None:
            raise no_signature(ctx, name, values, node)
        return Value(f"flatten((list({value.sql}{order}){present}{over}){limit})", value.type)
    if name == "STRING_AGG":
        return _string_agg(ctx, node, values, distinct, order, limit, over)
    if name == "APPROX_QUANTILES":
        return _quantiles(ctx, node, values, modifiers, over)
    count = values[1].text if len(values) == 2 else None
    if not isinstance(count, int):
        raise ctx.not_emulated("APPROX_TOP_COUNT with a number that is not a literal", node)
    kind = array_of(Type("STRUCT", fields=(("value", value.type), ("count", INT64))))
    return Value(f"bq_top_count(list({value.sql}){over}, {count})", kind)


def _string_agg(
    ctx: Context,
    node: exp.Anonymous,
    values: list[Value],
    distinct: str,
    order: str,
    limit: str,
    over: str,
) -> Value:
    text = coerce(values[0], STRING)
    separator = coerce(values[1], STRING) if len(values) > 1 else literal(",")
    if text is None or separator is None or len(values) > 2:
        if values[0].type == BYTES:
            raise ctx.not_emulated("STRING_AGG of BYTES", node)
        raise no_signature(ctx, "STRING_AGG", values, node)
    if limit:
        items = f"(list({distinct}{text}{order}) FILTER (WHERE {text} IS NOT NULL){over}){limit}"
        return Value(f"array_to_string({items}, {separator})", STRING)
    return Value(f"string_agg({distinct}{text}, {separator}{order}){over}", STRING)


def _quantiles(
    ctx: Context, node: exp.Anonymous, values: list[Value], modifiers: Modifiers, over: str
) -> Value:
    """Exact quantiles, which are a valid approximation."""
    number = values[1].text if len(values) == 2 else None
    if not isinstance(number, int) or number < 1:
        raise ctx.error("Second argument of APPROX_QUANTILES must be a positive literal", node)
    if modifiers.nulls == "RESPECT":
        raise ctx.not_emulated("APPROX_QUANTILES with RESPECT NULLS", node)
    value = values[0]
    if value.type.element or value.type.name in ("STRUCT", "JSON"):
        raise no_signature(ctx, "APPROX_QUANTILES", values, node)
    if modifiers.distinct:
        raise ctx.not_emulated("APPROX_QUANTILES with DISTINCT", node)
    fractions = ", ".join(repr(i / number) for i in range(number + 1))
    return Value(f"quantile_disc({value.sql}, [{fractions}]){over}", array_of(value.type))
