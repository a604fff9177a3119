"""Arithmetic, comparison, bits, concatenation.

FLOAT64 compares by IEEE 754: NaN is not equal to, less or greater than any value. In DuckDB it
equals itself and is greater than all numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from .context import Context
from .types import (
    BOOL,
    BYTES,
    DATE,
    FLOAT64,
    INT64,
    JSON,
    NUMBERS,
    NUMERIC,
    STRING,
    TIMESTAMP,
    Type,
    Value,
    coerce,
    supertype,
)

Operator = Callable[[Context, exp.Expression, Value, Value], Value]

# An operand longer than this is not repeated in the SQL for an error message.
_LONG = 400


def _signature(
    ctx: Context, node: exp.Expression, symbol: str, left: Value, right: Value
) -> Exception:
    return ctx.error(
        f"No matching signature for operator {symbol} for argument types: "
        f"{left.type}, {right.type}",
        node,
    )


def _numbers(
    ctx: Context, node: exp.Expression, symbol: str, left: Value, right: Value
) -> tuple[str, str, Type]:
    kind = supertype([left, right])
    if kind not in NUMBERS:
        raise _signature(ctx, node, symbol, left, right)
    return coerce(left, kind), coerce(right, kind), kind


def plus(ctx: Context, node: exp.Expression, left: Value, right: Value) -> Value:
    """`+`: numbers, and DATE + days."""
    if DATE in (left.type, right.type) and INT64 in (left.type, right.type):
        day, days = (left, right) if left.type == DATE else (right, left)
        return Value(f"({day.sql} + CAST({days.sql} AS INTEGER))", DATE)
    a, b, kind = _numbers(ctx, node, "+", left, right)
    return Value(_exact(f"({a} + {b})", kind), kind)


def minus(ctx: Context, node: exp.Expression, left: Value, right: Value) -> Value:
    """`-`: numbers, and DATE - days."""
    if left.type == DATE and right.type == INT64 and not right.null:
        return Value(f"({left.sql} - CAST({right.sql} AS INTEGER))", DATE)
    if left.type == right.type and left.type in (DATE, TIMESTAMP):
        raise ctx.not_emulated(f"differences as INTERVAL ({left.type} - {right.type})", node)
    a, b, kind = _numbers(ctx, node, "-", left, right)
    return Value(_exact(f"({a} - {b})", kind), kind)


def times(ctx: Context, node: exp.Expression, left: Value, right: Value) -> Value:
    """`*`: a product of NUMERICs is rounded to NUMERIC's nine decimals."""
    a, b, kind = _numbers(ctx, node, "*", left, right)
    if kind == NUMERIC:
        return Value(f"bq_numeric_multiply({a}, {b})", NUMERIC)
    return Value(f"({a} * {b})", kind)


def divided(ctx: Context, node: exp.Expression, left: Value, right: Value) -> Value:
    """`/`: FLOAT64, also for integers; division by zero is an error."""
    a, b, kind = _numbers(ctx, node, "/", left, right)
    if kind == NUMERIC:
        return Value(f"bq_numeric_divide({a}, {b})", NUMERIC)
    a, b = coerce(left, FLOAT64), coerce(right, FLOAT64)
    if right.text:
        return Value(f"({a} / {b})", FLOAT64)
    if len(a) + len(b) > _LONG:
        return Value(f"({a} / bq_divisor({b}))", FLOAT64)
    return Value(f"bq_divide({a}, {b})", FLOAT64)


def _exact(sql: str, kind: Type) -> str:
    return f"CAST({sql} AS {kind.duckdb})" if kind == NUMERIC else sql


def concatenated(ctx: Context, node: exp.Expression, left: Value, right: Value) -> Value:
    """`||`: STRING, BYTES or ARRAY."""
    kind = supertype([left, right])
    if kind is None or (kind not in (STRING, BYTES) and not kind.element):
        raise _signature(ctx, node, "||", left, right)
    return Value(f"({coerce(left, kind)} || {coerce(right, kind)})", kind)


def comparable(ctx: Context, kind: Type, node: exp.Expression) -> None:
    """Raise an error for types without equality."""
    if kind.element or kind == JSON:
        raise ctx.error(f"Equality is not defined for arguments of type {kind}", node)


def comparison(symbol: str) -> Operator:
    """`=`, `!=`, `<`, ... of two values of one type."""

    def compare(ctx: Context, node: exp.Expression, left: Value, right: Value) -> Value:
        kind = supertype([left, right])
        if kind is None:
            raise _signature(ctx, node, symbol, left, right)
        comparable(ctx, kind, node)
        if kind.name == "STRUCT" and symbol not in ("=", "!="):
            raise _signature(ctx, node, symbol, left, right)
        a, b = coerce(left, kind), coerce(right, kind)
        sql = f"({a} {symbol} {b})"
        return Value(_ieee(symbol, sql, (a, left), (b, right)) if kind == FLOAT64 else sql, BOOL)

    return compare


def _ieee(symbol: str, sql: str, left: tuple[str, Value], right: tuple[str, Value]) -> str:
    """The comparison with IEEE's NaN; a literal is never NaN."""
    # In DuckDB NaN is the greatest: `<` is wrong for a NaN at right, `>` for one at left.
    a_literal, b_literal = left[1].text is not None, right[1].text is not None
    if symbol in ("=", "!="):
        if a_literal or b_literal:
            return sql
        if symbol == "=":
            return f"({sql} AND NOT isnan({left[0]}))"
        return f"({sql} OR isnan({left[0]}))"
    watched, is_literal = (right[0], b_literal) if "<" in symbol else (left[0], a_literal)
    return sql if is_literal else f"({sql} AND NOT isnan({watched}))"


def distinct(negated: bool) -> Operator:
    """IS [NOT] DISTINCT FROM, where NaN is not distinct from NaN."""
    word = "IS NOT DISTINCT FROM" if negated else "IS DISTINCT FROM"

    def compare(ctx: Context, node: exp.Expression, left: Value, right: Value) -> Value:
        kind = supertype([left, right])
        if kind is None:
            raise _signature(ctx, node, word, left, right)
        return Value(f"({coerce(left, kind)} {word} {coerce(right, kind)})", BOOL)

    return compare


def bits(symbol: str) -> Operator:
    """`&`, `|`, `^` of INT64."""

    def combine(ctx: Context, node: exp.Expression, left: Value, right: Value) -> Value:
        a, b = coerce(left, INT64), coerce(right, INT64)
        if a is None or b is None:
            raise _signature(ctx, node, symbol, left, right)
        return Value(f"xor({a}, {b})" if symbol == "^" else f"({a} {symbol} {b})", INT64)

    return combine


def shift(symbol: str) -> Operator:
    """`<<` and `>>`: logical shifts; an offset of 64 or more gives 0."""
    macro = "bq_shift_left" if symbol == "<<" else "bq_shift_right"

    def combine(ctx: Context, node: exp.Expression, left: Value, right: Value) -> Value:
        a, b = coerce(left, INT64), coerce(right, INT64)
        if a is None or b is None:
            raise _signature(ctx, node, symbol, left, right)
        return Value(f"{macro}({a}, {b})", INT64)

    return combine
