"""Translates GoogleSQL's functions by name; a name in no table is refused."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from sqlglot import exp

from local_gcp.bigquery.sql.context import Context
from local_gcp.bigquery.sql.dispatch import handles, translate
from local_gcp.bigquery.sql.literals import struct
from local_gcp.bigquery.sql.types import Value

from . import aggregates, arrays, dates, formats, numbers, strings, windows
from .signatures import apply

_SIGNATURES = {
    name: [s for table in _tables for s in table.get(name, [])]
    for _tables in [(numbers.SIGNATURES, strings.SIGNATURES, arrays.SIGNATURES, dates.SIGNATURES)]
    for name in sorted({name for table in _tables for name in table})
}

# Functions of translated arguments.
_OF_VALUES: dict[str, Callable[[Context, exp.Anonymous, list[Value]], Value]] = {
    "ARRAY_CONCAT": arrays.array_concat,
    "CONCAT": strings.concat,
    "FORMAT": strings.format_string,
    "GREATEST": arrays.extreme,
    "LEAST": arrays.extreme,
    "REGEXP_EXTRACT": strings.regexp_extract,
    "REGEXP_EXTRACT_ALL": strings.regexp_extract_all,
    "REGEXP_REPLACE": strings.regexp_replace,
    "REGEXP_SUBSTR": strings.regexp_extract,
    "TO_JSON": arrays.to_json,
    "TO_JSON_STRING": arrays.to_json_string,
}

# Functions with arguments that are not all expressions (date parts, aliases).
_OF_NODES: dict[str, Callable[[Context, exp.Anonymous], Value]] = {
    "GENERATE_DATE_ARRAY": dates.generate,
    "GENERATE_TIMESTAMP_ARRAY": dates.generate,
    "LAST_DAY": dates.last_day,
    **{
        f"{kind}_{verb}": function
        for kind in ("DATE", "TIME", "DATETIME", "TIMESTAMP")
        for verb, function in {
            "ADD": dates.add,
            "SUB": dates.add,
            "TRUNC": dates.truncate,
            "DIFF": dates.difference,
        }.items()
    },
    **{
        f"{verb}_{kind}": function
        for kind in ("DATE", "TIME", "DATETIME", "TIMESTAMP")
        for verb, function in {
            "FORMAT": formats.format_time,
            "PARSE": formats.parse_time,
        }.items()
    },
}

# BigQuery has these too: https://cloud.google.com/bigquery/docs/reference/standard-sql/functions-all
NOT_EMULATED_FAMILIES = ("DLP_", "S2_", "ST_")
"""Beginnings of the names of encryption with Sensitive Data Protection, and of geography."""
NOT_EMULATED = frozenset(
    [
        "APPENDS",
        "AGG",
        "BOOL_ARRAY",
        "CHANGES",
        "DETERMINISTIC_DECRYPT_BYTES",
        "DETERMINISTIC_DECRYPT_STRING",
        "DETERMINISTIC_ENCRYPT",
        "EXTERNAL_OBJECT_TRANSFORM",
        "EXTERNAL_QUERY",
        "FLOAT64_ARRAY",
        "GAP_FILL",
        "GENERATE_RANGE_ARRAY",
        "HPARAM_CANDIDATES",
        "HPARAM_RANGE",
        "IFERROR",
        "INT64_ARRAY",
        "ISERROR",
        "JSON_ARRAY_APPEND",
        "JSON_ARRAY_INSERT",
        "JSON_FLATTEN",
        "LAX_BOOL_ARRAY",
        "LAX_FLOAT64_ARRAY",
        "LAX_INT64_ARRAY",
        "LAX_STRING_ARRAY",
        "NULLIFERROR",
        "RANGE_END",
        "RANGE_INTERSECT",
        "RANGE_OVERLAPS",
        "RANGE_SESSIONIZE",
        "RANGE_START",
        "STRING_ARRAY",
        "TIMESTAMP_FROM_UNIX_MICROS",
        "TIMESTAMP_FROM_UNIX_MILLIS",
        "TIMESTAMP_FROM_UNIX_SECONDS",
        "APPROX_TOP_SUM",
        "ARRAY_SLICE",
        "ARRAY_INCLUDES",
        "BAG_OF_WORDS",
        "BIT_CAST_TO_INT32",
        "CODE_POINTS_TO_BYTES",
        "CODE_POINTS_TO_STRING",
        "COLLATE",
        "CONTAINS_SUBSTR",
        "COSINE_DISTANCE",
        "COT",
        "COTH",
        "CSC",
        "CSCH",
        "SEC",
        "SECH",
        "DATE_BUCKET",
        "DATETIME_BUCKET",
        "DESTINATION_TYPE",
        "ERROR",
        "EUCLIDEAN_DISTANCE",
        "FROM_BASE32",
        "HLL_COUNT.EXTRACT",
        "INITCAP",
        "INTERVAL",
        "JSON_ARRAY",
        "JSON_EXTRACT_ARRAY",
        "JSON_EXTRACT_STRING_ARRAY",
        "JSON_KEYS",
        "JSON_OBJECT",
        "JSON_REMOVE",
        "JSON_SET",
        "JSON_STRIP_NULLS",
        "JSON_TYPE",
        "JUSTIFY_DAYS",
        "JUSTIFY_HOURS",
        "JUSTIFY_INTERVAL",
        "LAX_BOOL",
        "LAX_FLOAT64",
        "LAX_INT64",
        "LAX_STRING",
        "MAKE_INTERVAL",
        "NORMALIZE",
        "NORMALIZE_AND_CASEFOLD",
        "PARSE_BIGNUMERIC",
        "PARSE_NUMERIC",
        "RANGE",
        "RANGE_CONTAINS",
        "REGEXP_INSTR",
        "SAFE_CONVERT_BYTES_TO_STRING",
        "SEARCH",
        "SESSION_USER",
        "SHA512",
        "SOUNDEX",
        "ST_GEOGPOINT",
        "ST_DISTANCE",
        "TEXT_ANALYZE",
        "TIMESTAMP_BUCKET",
        "TO_BASE32",
        "TO_CODE_POINTS",
        "TYPEOF",
        "VECTOR_SEARCH",
    ]
)
KNOWN = frozenset(
    {"STRUCT", *_SIGNATURES, *_OF_VALUES, *_OF_NODES, *dates.CURRENT}
    | {*aggregates.NAMES, *windows.NAMES}
)


@handles(exp.Anonymous)
def _call(ctx: Context, node: exp.Anonymous) -> Value:
    """A function call without OVER."""
    name = node.name.upper()
    if name in aggregates.NAMES:
        return aggregates.call(ctx, node)
    if name in windows.NAMES:
        raise ctx.error(f"Analytic function {name} cannot be called without an OVER clause", node)
    if name in _OF_NODES:
        if not node.expressions:
            raise ctx.error(f"No matching signature for function {name} with no arguments", node)
        return _OF_NODES[name](ctx, node)
    if name in dates.CURRENT and not node.expressions:
        return dates.CURRENT[name](ctx)
    if name == "STRUCT":
        return struct(ctx, node.expressions)
    if name not in _SIGNATURES and name not in _OF_VALUES:
        raise _not_found(ctx, node)
    values = [translate(ctx, argument) for argument in node.expressions]
    if name in _OF_VALUES:
        return _OF_VALUES[name](ctx, node, values)
    return apply(ctx, name, _SIGNATURES[name], values, node)


@handles(exp.Window, exp.IgnoreNulls, exp.RespectNulls)
def _over(ctx: Context, node: exp.Expression) -> Value:
    """A function call with OVER."""
    found = windows.over(ctx, node)
    if isinstance(found, exp.Anonymous):
        raise _not_found(ctx, found)
    return found


def _not_found(ctx: Context, node: exp.Anonymous) -> Exception:
    """Error for a function in no table: BigQuery's error, or not emulated."""
    name = node.name
    if name.upper() in NOT_EMULATED or name.upper().startswith(NOT_EMULATED_FAMILIES):
        return ctx.not_emulated(f"function {name.upper()}", node)
    close = difflib.get_close_matches(name.upper(), KNOWN, 1, 0.75)
    hint = f"; Did you mean {close[0].lower()}?" if close else ""
    return ctx.error(f"Function not found: {name}{hint}", node)
