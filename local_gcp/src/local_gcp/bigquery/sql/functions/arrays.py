"""Array functions, TO_JSON_STRING, and conditional functions.

https://cloud.google.com/bigquery/docs/reference/standard-sql/array_functions
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlglot import exp

from local_gcp.bigquery.sql.context import Context
from local_gcp.bigquery.sql.types import (
    FLOAT64,
    JSON,
    NUMBERS,
    STRING,
    Type,
    Value,
    coerce,
    literal,
    struct_name,
    supertype,
)

from .signatures import no_signature, table

SIGNATURES = table("""
ARRAY_LENGTH(ARRAY<T>) -> INT64 = CAST(len({0}) AS BIGINT)
ARRAY_REVERSE(ARRAY<T>) -> ARRAY<T> = list_reverse({0})
ARRAY_FIRST(ARRAY<T>) -> T = bq_element({0}, 1)
ARRAY_LAST(ARRAY<T>) -> T = bq_element({0}, len({0}))
ARRAY_TO_STRING(ARRAY<STRING>, STRING) -> STRING = bq_array_to_string({0}, {1})
ARRAY_TO_STRING(ARRAY<STRING>, STRING, STRING) -> STRING = bq_array_to_string_null({0}, {1}, {2})
GENERATE_ARRAY(INT64, INT64) -> ARRAY<INT64> = bq_generate_array({0}, {1}, CAST(1 AS BIGINT))
GENERATE_ARRAY(INT64, INT64, INT64) -> ARRAY<INT64> = bq_generate_array({0}, {1}, {2})
GENERATE_ARRAY(FLOAT64, FLOAT64) -> ARRAY<FLOAT64> =
    bq_generate_float_array({0}, {1}, CAST(1 AS DOUBLE))
GENERATE_ARRAY(FLOAT64, FLOAT64, FLOAT64) -> ARRAY<FLOAT64> = bq_generate_float_array({0}, {1}, {2})
IFNULL(T, T) -> T = coalesce({0}, {1})
COALESCE(T*) -> T = coalesce({*})
NULLIF(T, T) -> T = nullif({0}, {1})
""")


def array_concat(ctx: Context, node: exp.Anonymous, values: list[Value]) -> Value:
    """ARRAY_CONCAT; NULL if any argument is."""
    kind = supertype(values)
    if kind is None or kind.element is None:
        raise no_signature(ctx, "ARRAY_CONCAT", values, node)
    parts = [coerce(v, kind) for v in values]
    return Value("(" + " || ".join(parts) + ")", kind)


def extreme(ctx: Context, node: exp.Anonymous, values: list[Value]) -> Value:
    """GREATEST and LEAST; NULL if any argument is, else NaN if any is."""
    name = node.name.upper()
    kind = supertype(values) if values else None
    if kind is None or kind.element or kind.name in ("STRUCT", "JSON"):
        raise no_signature(ctx, name, values, node)
    parts = [coerce(v, kind) for v in values]
    nulls = " OR ".join(f"{p} IS NULL" for p in parts)
    arms = f"WHEN {nulls} THEN NULL"
    if kind == FLOAT64:
        arms += f" WHEN {' OR '.join(f'isnan({p})' for p in parts)} THEN CAST('nan' AS DOUBLE)"
    return Value(f"CASE {arms} ELSE {name.lower()}({', '.join(parts)}) END", kind)


def to_json_string(ctx: Context, node: exp.Anonymous, values: list[Value]) -> Value:
    """TO_JSON_STRING of any value."""
    if len(values) != 1:
        raise ctx.not_emulated("TO_JSON_STRING with pretty print", node)
    return Value(_json_or_null(values[0]), STRING)


def to_json(ctx: Context, node: exp.Anonymous, values: list[Value]) -> Value:
    """TO_JSON of any value."""
    return Value(f"CAST({to_json_string(ctx, node, values).sql} AS JSON)", JSON)


_QUOTED = {
    "DATE": "CAST({0} AS VARCHAR)",
    "TIME": "bq_time_text({0})",
    "DATETIME": "replace(bq_datetime_text({0}), ' ', 'T')",
    "TIMESTAMP": "replace(replace(bq_timestamp_text({0}), ' ', 'T'), '+00', 'Z')",
    "BYTES": "base64({0})",
}


def _json_or_null(value: Value) -> str:
    return f"coalesce({_json_text(value)}, 'null')"


def _json_text(value: Value) -> str:
    """A value as JSON text; NULL for NULL.

    https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#json_encodings
    """
    sql, kind = value.sql, value.type
    if kind.element:
        inner = _json_or_null(Value("e", kind.element))
        listed = f"array_to_string(list_transform({sql}, lambda e: {inner}), ',')"
        return f"('[' || {listed} || ']')"
    if kind.name == "STRUCT":
        if value.items is not None:
            return _json_object(kind, value.items)
        # Named once: a row of 2,000 columns is a long expression.
        fields = [
            Value(f"struct_extract(s, {literal(struct_name(name, index))})", field)
            for index, (name, field) in enumerate(kind.fields)
        ]
        text = f"CASE WHEN s IS NULL THEN NULL ELSE {_json_object(kind, fields)} END"
        return f"list_transform([{sql}], lambda s: {text})[1]"
    if kind.name in _QUOTED:
        return f"""('"' || {_QUOTED[kind.name].format(sql)} || '"')"""
    if kind == FLOAT64:
        return f"bq_json_float({sql})"
    if kind in NUMBERS:
        text = "bq_numeric_text({0})" if kind.name == "NUMERIC" else "CAST({0} AS VARCHAR)"
        return f"bq_json_number({text.format(sql)})"
    if kind.name == "BOOL":
        return f"CAST({sql} AS VARCHAR)"
    if kind == JSON:
        return f"CAST({sql} AS VARCHAR)"
    return f"CAST(to_json({sql}) AS VARCHAR)"


def _json_object(kind: Type, fields: Sequence[Value]) -> str:
    """concat: DuckDB nests operators, of 1,000 at most."""
    parts = []
    for index, ((name, _), value) in enumerate(zip(kind.fields, fields, strict=True)):
        key = ("," if index else "{") + json.dumps(name, ensure_ascii=False) + ":"
        parts += [literal(key), _json_or_null(value)]
    return f"concat({', '.join([*parts, literal('}')])})" if parts else "'{}'"
