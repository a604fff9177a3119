"""Expressions: names, operators, conditions, arrays and structs, casts, calls.

Each kind of syntax node has one function here or in literals.py.
"""

from __future__ import annotations

from sqlglot import exp

from . import casts, elements, names, operators, parameters
from .context import Context
from .dispatch import common, handles, subquery, translate, translate_as
from .functions import dates
from .types import (
    BOOL,
    FLOAT64,
    INT64,
    JSON,
    STRING,
    Value,
    array_of,
    coerce,
    supertype,
)

# Parameters and names ---------------------------------------------------------------------------


@handles(exp.Placeholder, exp.Parameter)
def _parameter(ctx: Context, node: exp.Expression) -> Value:
    return parameters.value(ctx, node)


@handles(exp.SessionParameter)
def _system_variable(ctx: Context, node: exp.Expression) -> Value:
    raise ctx.not_emulated(f"system variable {node.sql('bigquery')}", node)


@handles(exp.Column)
def _column(ctx: Context, node: exp.Column) -> Value:
    if isinstance(node.this, exp.Star):
        raise ctx.error("Star expansion is not allowed here", node)
    path = names.path_of(node)
    if len(path) == 1 and not path[0].args.get("quoted"):
        now = dates.CURRENT.get(path[0].name.upper())
        if now is not None:
            return now(ctx)
    return names.resolve(ctx, path)


@handles(exp.Dot)
def _dot(ctx: Context, node: exp.Dot) -> Value:
    root = next(n for n in [node.find(exp.Parameter), node] if n is not None)
    if isinstance(root, exp.Parameter) and isinstance(root.this, exp.Parameter):
        raise ctx.not_emulated(f"system variable {node.sql('bigquery')}", node)
    if isinstance(node.expression, exp.Anonymous):
        name = f"{node.this.sql('bigquery')}.{node.expression.name}"
        raise ctx.not_emulated(f"function {name}", node)
    return names.field_of(ctx, translate(ctx, node.this), node.expression)


# Operators --------------------------------------------------------------------------------------

_OPERATORS = {
    exp.Add: operators.plus,
    exp.Sub: operators.minus,
    exp.Mul: operators.times,
    exp.Div: operators.divided,
    exp.DPipe: operators.concatenated,
    exp.EQ: operators.comparison("="),
    exp.NEQ: operators.comparison("!="),
    exp.LT: operators.comparison("<"),
    exp.LTE: operators.comparison("<="),
    exp.GT: operators.comparison(">"),
    exp.GTE: operators.comparison(">="),
    exp.BitwiseAnd: operators.bits("&"),
    exp.BitwiseOr: operators.bits("|"),
    exp.BitwiseXor: operators.bits("^"),
    exp.BitwiseLeftShift: operators.shift("<<"),
    exp.BitwiseRightShift: operators.shift(">>"),
    exp.NullSafeEQ: operators.distinct(negated=True),
    exp.NullSafeNEQ: operators.distinct(negated=False),
}


@handles(*_OPERATORS)
def _binary(ctx: Context, node: exp.Binary) -> Value:
    interval = node.expression
    if isinstance(interval, exp.Interval) and isinstance(node, exp.Add | exp.Sub):
        return dates.shifted(ctx, node.this, interval, isinstance(node, exp.Sub), node)
    left, right = translate(ctx, node.this), translate(ctx, node.expression)
    return _OPERATORS[type(node)](ctx, node, left, right)


@handles(exp.And, exp.Or)
def _connective(ctx: Context, node: exp.Connector) -> Value:
    word = "AND" if isinstance(node, exp.And) else "OR"
    operands = list(node.flatten())  # iteratively: generated conditions can be thousands deep
    parts = []
    for operand in operands:
        value = translate(ctx, operand)
        sql = coerce(value, BOOL)
        if sql is None:
            raise ctx.error(
                f"No matching signature for operator {word} for argument types: {value.type}", node
            )
        parts.append(sql)
    return Value("(" + f" {word} ".join(parts) + ")", BOOL)


@handles(exp.Not)
def _not(ctx: Context, node: exp.Not) -> Value:
    return Value(f"(NOT {translate_as(ctx, node.this, BOOL, 'Operand of NOT')})", BOOL)


@handles(exp.BitwiseNot)
def _bitwise_not(ctx: Context, node: exp.BitwiseNot) -> Value:
    return Value(f"(~ {translate_as(ctx, node.this, INT64, 'Operand of ~')})", INT64)


@handles(exp.Is)
def _is(ctx: Context, node: exp.Is) -> Value:
    value = translate(ctx, node.this)
    if isinstance(node.expression, exp.Null):
        return Value(f"({value.sql} IS NULL)", BOOL)
    if isinstance(node.expression, exp.Boolean) and coerce(value, BOOL):
        word = "TRUE" if node.expression.this else "FALSE"
        return Value(f"(({coerce(value, BOOL)}) IS NOT DISTINCT FROM {word})", BOOL)
    raise ctx.error(f"Operand of IS must be BOOL, not {value.type}", node)


@handles(exp.Between)
def _between(ctx: Context, node: exp.Between) -> Value:
    low = exp.GTE(this=node.this, expression=node.args["low"])
    high = exp.LTE(this=node.this, expression=node.args["high"])
    return Value(f"({_binary(ctx, low).sql} AND {_binary(ctx, high).sql})", BOOL)


@handles(exp.Like)
def _like(ctx: Context, node: exp.Like) -> Value:
    if not isinstance(node.expression, exp.Expression) or isinstance(
        node.expression, exp.Any | exp.All | exp.Tuple
    ):
        raise ctx.not_emulated("LIKE ANY and LIKE ALL", node)
    text, pattern = translate(ctx, node.this), translate(ctx, node.expression)
    if coerce(text, STRING) is None or coerce(pattern, STRING) is None:
        raise ctx.error(
            "No matching signature for operator LIKE for argument types: "
            f"{text.type}, {pattern.type}",
            node,
        )
    word = "NOT LIKE" if node.args.get("negate") else "LIKE"
    sql = f"({coerce(text, STRING)} {word} {coerce(pattern, STRING)} ESCAPE '\\')"
    return Value(sql, BOOL)


@handles(exp.In)
def _in(ctx: Context, node: exp.In) -> Value:
    query = node.args.get("query")
    unnest = node.args.get("unnest")
    if query is not None:
        left = translate(ctx, node.this)
        output = subquery(ctx, query)
        if len(output.types) != 1:
            raise ctx.error("Subquery of type IN must have only one output column", query)
        right = Value("q.c1", output.types[0])
        kind = supertype([left, right])
        if kind is None:
            raise ctx.error(
                f"Cannot execute IN subquery with uncomparable types {left.type} and {right.type}",
                node,
            )
        inner = f"SELECT {coerce(right, kind)} FROM ({output.sql}) AS q"
        return Value(f"({coerce(left, kind)} IN ({inner}))", BOOL)
    if unnest is not None:
        left, array = translate(ctx, node.this), translate(ctx, unnest.expressions[0])
        if array.type.element is None:
            raise ctx.error(
                f"Second argument of IN UNNEST must be an array but was {array.type}", node
            )
        kind = supertype([left, Value("e", array.type.element)])
        if kind is None or coerce(array, array_of(kind)) is None:
            raise ctx.error(
                "No matching signature for operator IN UNNEST for argument types: "
                f"{left.type}, {array.type}",
                node,
            )
        return Value(f"bq_in({coerce(left, kind)}, {coerce(array, array_of(kind))})", BOOL)
    parts, kind = common(ctx, [node.this, *node.expressions], "operator IN")
    operators.comparable(ctx, kind, node)
    sql = f"({parts[0]} IN ({', '.join(parts[1:])}))"
    return Value(f"({sql} AND NOT isnan({parts[0]}))" if kind == FLOAT64 else sql, BOOL)


@handles(exp.Exists)
def _exists(ctx: Context, node: exp.Exists) -> Value:
    of_array = elements.exists(ctx, node.this)
    return of_array or Value(f"EXISTS ({subquery(ctx, node.this).sql})", BOOL)


@handles(exp.Subquery)
def _scalar_subquery(ctx: Context, node: exp.Subquery) -> Value:
    output = subquery(ctx, node.this)
    if len(output.types) != 1:
        raise ctx.error(
            "Scalar subquery cannot have more than one column unless using "
            "SELECT AS STRUCT to build STRUCT values",
            node,
        )
    return Value(f"({output.sql})", output.types[0])


# Conditions -------------------------------------------------------------------------------------


@handles(exp.If)
def _if(ctx: Context, node: exp.If) -> Value:
    condition = translate_as(ctx, node.this, BOOL, "First argument of IF")
    if node.args.get("false") is None:
        raise ctx.error("No matching signature for function IF: it takes three arguments", node)
    (yes, no), kind = common(ctx, [node.args["true"], node.args["false"]], "function IF")
    return Value(f"CASE WHEN {condition} THEN {yes} ELSE {no} END", kind)


@handles(exp.Case)
def _case(ctx: Context, node: exp.Case) -> Value:
    default = node.args.get("default") or exp.Null()
    results, kind = common(
        ctx, [*(branch.args["true"] for branch in node.args["ifs"]), default], "operator CASE"
    )
    conditions = []
    for branch in node.args["ifs"]:
        if node.this is not None:
            test = exp.EQ(this=node.this, expression=branch.this)
            conditions.append(_binary(ctx, test).sql)
        else:
            conditions.append(translate_as(ctx, branch.this, BOOL, "CASE WHEN condition"))
    arms = " ".join(f"WHEN {c} THEN {r}" for c, r in zip(conditions, results, strict=False))
    return Value(f"CASE {arms} ELSE {results[-1]} END", kind)


# Arrays, structs, casts -------------------------------------------------------------------------


@handles(exp.Array)
def _array(ctx: Context, node: exp.Array) -> Value:
    first = node.expressions[0] if node.expressions else None
    if isinstance(first, exp.Query) and len(node.expressions) == 1:
        of_array = elements.array(ctx, node.expressions[0])
        if of_array is not None:
            return of_array
        output = subquery(ctx, first, keep_order=True)
        if len(output.types) != 1:
            raise ctx.error(
                "ARRAY subquery cannot have more than one column unless using SELECT AS STRUCT "
                "to build STRUCT values",
                node,
            )
        if output.types[0].element:
            raise ctx.error(
                f"Cannot use array subquery with column of type {output.types[0]}", node
            )
        return Value(f"ARRAY({output.sql})", array_of(output.types[0]))
    values = tuple(translate(ctx, item) for item in node.expressions)
    kind = supertype(values)
    if kind is None or kind.element:
        listed = ", ".join(str(v.type) for v in values)
        raise ctx.error(
            f"Array elements of types {{{listed}}} do not have a common supertype"
            if kind is None
            else "Cannot construct array with element type ARRAY because nested arrays are not "
            "supported",
            node,
        )
    items = ", ".join(coerce(v, kind) for v in values)
    sql = f"CAST([{items}] AS {array_of(kind).duckdb})"
    return Value(sql, array_of(kind), literal=not values, items=values)


@handles(exp.Bracket)
def _element(ctx: Context, node: exp.Bracket) -> Value:
    base, index = translate(ctx, node.this), translate(ctx, node.expressions[0])
    if base.type == JSON:
        return Value(f"json_extract({base.sql}, {index.sql})", JSON)
    if base.type.element is None:
        raise ctx.error(f"Element access using [] is not supported on type {base.type}", node)
    if coerce(index, INT64) is None:
        raise ctx.error(f"Array position must be coercible to INT64, not {index.type}", node)
    place = index.sql if node.args.get("offset") == 1 else f"({index.sql} + 1)"
    macro = "bq_element_safe" if node.args.get("safe") else "bq_element"
    return Value(f"{macro}({base.sql}, {place})", base.type.element)


@handles(exp.Cast, exp.TryCast)
def _cast(ctx: Context, node: exp.Cast) -> Value:
    to = casts.data_type(ctx, node.args["to"])
    if node.args.get("format") is not None:
        raise ctx.not_emulated("CAST with FORMAT", node)
    inner = node.this
    if isinstance(inner, exp.Array | exp.Struct) and to.name in ("ARRAY", "STRUCT"):
        value = translate(ctx, inner)
        sql = coerce(value, to)
        if sql is not None:
            return Value(sql, to, items=value.items)
    value = translate(ctx, inner)
    sql = casts.cast(ctx, value, to, node)
    if isinstance(node, exp.TryCast):
        return Value(f"TRY({sql})", to)
    known = isinstance(inner, exp.Literal) and value.text is not None and to == STRING
    return Value(sql, to, text=str(value.text) if known else None)


# Functions --------------------------------------------------------------------------------------


@handles(exp.SafeFunc)
def _safe_function(ctx: Context, node: exp.SafeFunc) -> Value:
    value = translate(ctx, node.this)
    return Value(f"TRY({value.sql})", value.type)


@handles(exp.Extract)
def _extract(ctx: Context, node: exp.Extract) -> Value:
    return dates.extract(ctx, node)


@handles(exp.Interval)
def _interval(ctx: Context, node: exp.Interval) -> Value:
    raise ctx.not_emulated("INTERVAL values outside of date arithmetic", node)
