"""Analytic functions: f(...) OVER (...).

https://cloud.google.com/bigquery/docs/reference/standard-sql/window-function-calls
"""

from __future__ import annotations

from sqlglot import exp

from local_gcp.bigquery.sql.context import Context
from local_gcp.bigquery.sql.dispatch import translate, translate_as
from local_gcp.bigquery.sql.ordering import keys
from local_gcp.bigquery.sql.types import FLOAT64, INT64, Value, coerce, literal, supertype

from . import aggregates
from .signatures import no_signature

_NUMBERING = {
    "ROW_NUMBER": "CAST(row_number(){over} AS BIGINT)",
    "RANK": "CAST(rank(){over} AS BIGINT)",
    "DENSE_RANK": "CAST(dense_rank(){over} AS BIGINT)",
    "PERCENT_RANK": "percent_rank(){over}",
    "CUME_DIST": "cume_dist(){over}",
    "NTILE": "CAST(ntile({0}){over} AS BIGINT)",
}
_NAVIGATION = ("FIRST_VALUE", "LAST_VALUE", "NTH_VALUE", "LAG", "LEAD")
_PERCENTILES = ("PERCENTILE_CONT", "PERCENTILE_DISC")
NAMES = frozenset({*_NUMBERING, *_NAVIGATION, *_PERCENTILES})
_WITHOUT_FRAME = frozenset({*_NUMBERING, "LAG", "LEAD", *_PERCENTILES})


def over(ctx: Context, node: exp.Expression) -> Value | exp.Anonymous:
    """A call with an OVER clause; the call itself if the function is unknown."""
    if not isinstance(node, exp.Window):
        raise ctx.error("IGNORE NULLS and RESPECT NULLS are only allowed in calls", node)
    function, nulls = node.this, ""
    if isinstance(function, exp.IgnoreNulls | exp.RespectNulls):
        nulls = "IGNORE NULLS" if isinstance(function, exp.IgnoreNulls) else "RESPECT NULLS"
        function = function.this
    if not isinstance(function, exp.Anonymous):
        raise ctx.not_emulated(f"OVER after {function.sql('bigquery')}", node)
    name = function.name.upper()
    if ctx.no_windows:
        raise ctx.error(f"Analytic function {name} not allowed in {ctx.no_windows}", node)
    # An analytic function may contain aggregates: SUM(COUNT(*)) OVER ().
    inner = ctx.inside(no_windows="analytic function")
    clause = f" OVER ({_window(inner, node, name)})"
    if name in _NUMBERING:
        return _numbering(inner, function, name, clause)
    if name in _NAVIGATION:
        return _navigation(inner, function, name, nulls, clause)
    if name in _PERCENTILES:
        return _percentile(inner, function, name, nulls, clause)
    if name in aggregates.NAMES:
        return aggregates.call(inner, function, clause)
    return function


def _window(ctx: Context, node: exp.Window, function: str) -> str:
    """The SQL in the parentheses of the function's OVER."""
    base = node.args.get("alias")
    parts: list[exp.Expression] = list(node.args.get("partition_by") or [])
    order, spec = node.args.get("order"), node.args.get("spec")
    while base is not None:
        named = ctx.windows.get(base.name.lower())
        if named is None:
            raise ctx.error(f"Unrecognized window alias {base.name}", node)
        parts = parts or list(named.args.get("partition_by") or [])
        order, spec = order or named.args.get("order"), spec or named.args.get("spec")
        base = named.args.get("alias")
    words = []
    if parts:
        words.append("PARTITION BY " + ", ".join(translate(ctx, p).sql for p in parts))
    ranged = spec is not None and (spec.args.get("kind") or "").upper() == "RANGE"
    offsets = spec is not None and any(
        isinstance(spec.args.get(side), exp.Expression) for side in ("start", "end")
    )
    if order is not None:
        words.append("ORDER BY " + ", ".join(keys(ctx, order, nan=not (ranged and offsets))))
    if spec is not None:
        if function in _WITHOUT_FRAME:
            raise ctx.error(
                f"Window framing clause is not allowed for analytic function {function.lower()}",
                node,
            )
        words.append(_frame(ctx, spec))
    return " ".join(words)


def _frame(ctx: Context, spec: exp.WindowSpec) -> str:
    if spec.args.get("exclude"):
        raise ctx.not_emulated("EXCLUDE in a window frame", spec)

    def bound(side: str) -> str:
        edge, direction = spec.args.get(side), spec.args.get(f"{side}_side") or ""
        if isinstance(edge, exp.Expression):
            edge = translate(ctx, edge).sql
        return f"{edge or 'CURRENT ROW'} {direction}".strip()

    return f"{spec.args['kind']} BETWEEN {bound('start')} AND {bound('end')}"


def _numbering(ctx: Context, node: exp.Anonymous, name: str, clause: str) -> Value:
    arguments = [translate_as(ctx, n, INT64, f"Argument of {name}") for n in node.expressions]
    if len(arguments) != (1 if name == "NTILE" else 0):
        raise ctx.error(f"No matching signature for analytic function {name}", node)
    kind = FLOAT64 if name in ("PERCENT_RANK", "CUME_DIST") else INT64
    sql = _NUMBERING[name].replace("{over}", clause)
    return Value(sql.replace("{0}", arguments[0]) if arguments else sql, kind)


def _navigation(ctx: Context, node: exp.Anonymous, name: str, nulls: str, clause: str) -> Value:
    nodes, modifiers = aggregates.unwrap(ctx, node)
    if modifiers.nulls:
        nulls = f"{modifiers.nulls} NULLS"
    values = [translate(ctx, n) for n in nodes]
    if not 1 <= len(values) <= (3 if name in ("LAG", "LEAD") else 2):
        raise no_signature(ctx, name, values, node)
    value = values[0]
    arguments = [value.sql]
    if name in ("LAG", "LEAD", "NTH_VALUE") and len(values) > 1:
        arguments.append(translate_as(ctx, nodes[1], INT64, f"Second argument of {name}"))
    if len(values) == 3:
        kind = supertype([value, values[2]])
        if kind is None or coerce(values[2], kind) is None:
            raise no_signature(ctx, name, values, node)
        arguments[0] = coerce(value, kind)
        arguments.append(coerce(values[2], kind))
        value = Value(arguments[0], kind)
    inside = f" {nulls}" if nulls else ""
    return Value(f"{name.lower()}({', '.join(arguments)}{inside}){clause}", value.type)


def _percentile(ctx: Context, node: exp.Anonymous, name: str, nulls: str, clause: str) -> Value:
    nodes, modifiers = aggregates.unwrap(ctx, node)
    values = [translate(ctx, n) for n in nodes]
    if "RESPECT" in (nulls or modifiers.nulls or ""):
        raise ctx.not_emulated(f"{name} with RESPECT NULLS", node)
    fraction = values[1].text if len(values) == 2 else None
    if not isinstance(fraction, int | float) or not 0 <= fraction <= 1:
        raise ctx.error(f"Second argument of {name} must be a literal between 0 and 1", node)
    kind = FLOAT64 if name == "PERCENTILE_CONT" else values[0].type
    sql = coerce(values[0], kind)
    if sql is None:
        raise no_signature(ctx, name, values, node)
    function = name.lower().replace("percentile", "quantile")
    found = f"{function}({sql}, {fraction!r}){clause}"
    if kind == FLOAT64:
        # The least number for BigQuery, the greatest for DuckDB.
        error = literal(f"local_gcp does not emulate {name} of NaN")
        found = (
            f"CASE WHEN bool_or(isnan({sql})){clause} THEN CAST(bq_error({error}) AS DOUBLE) "
            f"ELSE {found} END"
        )
    return Value(found, kind)
