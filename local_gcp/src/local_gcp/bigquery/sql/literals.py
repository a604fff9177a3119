"""Literals: numbers, strings, bytes, NULL, STRUCTs.

https://cloud.google.com/bigquery/docs/reference/standard-sql/lexical#literals
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from .context import Context
from .dispatch import handles, translate
from .types import BOOL, BYTES, FLOAT64, INT64, JSON, NUMERIC, STRING, Type, Value, literal, pack


@handles(exp.Literal)
def _literal(ctx: Context, node: exp.Literal) -> Value:
    if node.is_string:
        return Value(literal(node.this), STRING, literal=True, text=node.this)
    if re.fullmatch(r"\d+", node.this):
        return integer(ctx, int(node.this), node)
    return Value(f"CAST('{node.this}' AS DOUBLE)", FLOAT64, literal=True, text=float(node.this))


def integer(ctx: Context, number: int, node: exp.Expression) -> Value:
    """An INT64 literal."""
    if not -(2**63) <= number < 2**63:
        raise ctx.error(f"Invalid integer literal: {number}", node)
    return Value(f"CAST({number} AS BIGINT)", INT64, literal=True, text=number)


@handles(exp.Neg)
def _negative(ctx: Context, node: exp.Neg) -> Value:
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string and inner.this.isdigit():
        return integer(ctx, -int(inner.this), node)
    value = translate(ctx, inner)
    if value.type not in (INT64, FLOAT64, NUMERIC):
        raise ctx.error(f"Operand for operator - must be numeric, not {value.type}", node)
    text = -value.text if value.text is not None else None
    # The negated minimum of INT64 is a wider number in DuckDB, and an overflow in BigQuery.
    zero = "CAST(0 AS BIGINT)" if value.type == INT64 else ""
    return Value(f"({zero} - {value.sql})", value.type, literal=value.literal, text=text)


@handles(exp.HexString)
def _hexadecimal(ctx: Context, node: exp.HexString) -> Value:
    return integer(ctx, int(node.this, 16), node)


@handles(exp.RawString)
def _raw_string(ctx: Context, node: exp.RawString) -> Value:
    return Value(literal(node.this), STRING, literal=True, text=node.this)


@handles(exp.ByteString)
def _bytes(ctx: Context, node: exp.ByteString) -> Value:
    # For the tokenizer, \xff and U+00FF are one character: the source text distinguishes them.
    written = ctx.job.text[node.meta["start"] : node.meta["end"] + 1]
    data = bytes_of(written)
    if data is None:
        raise ctx.not_emulated(f"the bytes literal {written}", node)
    return Value(f"from_hex('{data.hex()}')", BYTES, literal=True, text=data)


_BYTES = re.compile(r"[bB](\"{3}|'{3}|\"|')(.*)\1", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|([0-7]{3})|(.))|([^\\]+)", re.DOTALL)
_PLAIN_ESCAPES = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def bytes_of(written: str) -> bytes | None:
    """The value of a bytes literal; None for an unknown form.

    https://cloud.google.com/bigquery/docs/reference/standard-sql/lexical#escape_sequences
    """
    match = _BYTES.fullmatch(written)
    if match is None:
        return None
    found = bytearray()
    for hexadecimal, octal, escaped, plain in _ESCAPE.findall(match[2]):
        if hexadecimal or octal:
            found.append(int(hexadecimal, 16) if hexadecimal else int(octal, 8) & 255)
        else:
            found += (_PLAIN_ESCAPES.get(escaped, escaped) + plain).encode()
    return bytes(found)


@handles(exp.Boolean)
def _boolean(ctx: Context, node: exp.Boolean) -> Value:
    return Value("true" if node.this else "false", BOOL, literal=True, text=bool(node.this))


@handles(exp.Null)
def _null(ctx: Context, node: exp.Null) -> Value:
    return Value("CAST(NULL AS BIGINT)", INT64, literal=True, null=True)


@handles(exp.ParseJSON)
def _json_literal(ctx: Context, node: exp.ParseJSON) -> Value:
    return Value(f"CAST({literal(node.this.this)} AS JSON)", JSON)


@handles(exp.Paren)
def _parentheses(ctx: Context, node: exp.Paren) -> Value:
    return translate(ctx, node.this)


@handles(exp.Tuple, exp.Struct)
def _tuple(ctx: Context, node: exp.Expression) -> Value:
    return struct(ctx, node.expressions, named=isinstance(node, exp.Struct))


def struct(ctx: Context, nodes: Sequence[exp.Expression], named: bool = True) -> Value:
    """STRUCT(a, b AS c): names from aliases and from column names.

    Without `named` the fields have none, as those of a tuple (a, b):
    https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types#tuple_syntax
    """
    fields, values = [], []
    for node in nodes:
        name = ""
        if isinstance(node, exp.Alias | exp.PropertyEQ):
            name = node.alias if isinstance(node, exp.Alias) else node.this.name
            node = node.this if isinstance(node, exp.Alias) else node.expression
        elif named and isinstance(node, exp.Column | exp.Dot):
            name = node.name
        values.append(translate(ctx, node))
        fields.append((name, values[-1].type))
    pairs = [(n, v.sql) for (n, _), v in zip(fields, values, strict=True)]
    return Value(pack(pairs), Type("STRUCT", fields=tuple(fields)), items=tuple(values))
