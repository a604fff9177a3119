"""Macros and functions named bq_* that translated SQL calls.

An error of BigQuery is raised by a failing conversion of 'bq:MESSAGE', from which messages.py gets
the message: DuckDB's own error() is volatile and therefore not allowed inside TRY.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import duckdb
import farmhash
import numpy as np
import pyarrow as pa

_WHITE_SPACE = "".join(map(chr, (9, 10, 11, 12, 13, 32, 133, 160, 5760, *range(8192, 8203), 8232,
                                 8233, 8239, 8287, 12288)))  # fmt: skip

_MACROS = {
    "bq_error(message)": "CAST('bq:' || message AS BIGINT)",
    "bq_white_space()": f"'{_WHITE_SPACE}'",
    # Text of values
    "bq_float_text(x)": """CASE WHEN isnan(x) THEN 'nan' WHEN isinf(x) THEN if(x > 0, 'inf', '-inf')
        WHEN x = 0 THEN '0'
        WHEN CAST(printf('%.15g', x) AS DOUBLE) = x THEN printf('%.15g', x)
        ELSE printf('%.17g', x) END""",
    "bq_numeric_text(x)": """CASE WHEN x = 0 THEN '0'
        ELSE rtrim(rtrim(CAST(CAST(x AS DECIMAL(38,9)) AS VARCHAR), '0'), '.') END""",
    "bq_fraction(micros)": """CASE WHEN micros % 1000000 = 0 THEN ''
        WHEN micros % 1000 = 0 THEN '.' || lpad(CAST(micros % 1000000 // 1000 AS VARCHAR), 3, '0')
        ELSE '.' || lpad(CAST(micros % 1000000 AS VARCHAR), 6, '0') END""",
    "bq_datetime_text(x)": "strftime(x, '%Y-%m-%d %H:%M:%S') || bq_fraction(microsecond(x))",
    "bq_timestamp_text(x)": "bq_datetime_text(CAST(x AS TIMESTAMP)) || '+00'",
    "bq_time_text(x)": "strftime(DATE '1970-01-01' + x, '%H:%M:%S') || bq_fraction(microsecond(x))",
    "bq_json_float(x)": """CASE WHEN isnan(x) THEN '"NaN"'
        WHEN isinf(x) THEN if(x > 0, '"Infinity"', '"-Infinity"') ELSE bq_float_text(x) END""",
    # Above 2^53 a JavaScript number is not exact, so BigQuery quotes it.
    "bq_json_number(x)": """CASE WHEN abs(CAST(x AS DECIMAL(38,9))) > 9007199254740992
        THEN '"' || x || '"' ELSE x END""",
    # Values of text
    "bq_parse_int64(x)": """CASE
        WHEN regexp_full_match(x, '\\s*[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)\\s*')
        THEN CAST(ltrim(trim(x, bq_white_space()), '+') AS BIGINT)
        WHEN x IS NOT NULL THEN bq_error('Bad int64 value: ' || x) END""",
    "bq_parse_float64(x)": """CASE
        WHEN regexp_full_match(x, '\\s*[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?\\s*')
        OR regexp_full_match(lower(x), '[+-]?(nan|inf|infinity)')
        THEN CAST(ltrim(trim(x, bq_white_space()), '+') AS DOUBLE)
        WHEN x IS NOT NULL THEN CAST(bq_error('Bad double value: ' || x) AS DOUBLE) END""",
    "bq_parse_numeric(x)": """CASE
        WHEN regexp_full_match(x, '\\s*[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?\\s*')
        THEN CAST(ltrim(trim(x, bq_white_space()), '+') AS DECIMAL(38,9))
        WHEN x IS NOT NULL
        THEN CAST(bq_error('Invalid NUMERIC value: ' || x) AS DECIMAL(38,9)) END""",
    "bq_parse_bool(x)": """CASE lower(x) WHEN 'true' THEN true WHEN 'false' THEN false
        ELSE CASE WHEN x IS NOT NULL THEN CAST(bq_error('Bad bool value: ' || x) AS BOOLEAN) END
        END""",
    "bq_parse_date(x)": """CASE
        WHEN regexp_full_match(x, '\\s*[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}\\s*') THEN CAST(x AS DATE)
        WHEN x IS NOT NULL THEN CAST(CAST(bq_error('Invalid date: ''' || x || '''') AS VARCHAR)
        AS DATE) END""",
    "bq_parse_time(x)": """CASE
        WHEN regexp_full_match(x, '\\s*([01]?[0-9]|2[0-3])(:[0-5]?[0-9]){2}(\\.[0-9]{1,6})?\\s*')
        THEN CAST(x AS TIME) WHEN x IS NOT NULL
        THEN CAST(CAST(bq_error('Invalid time string "' || x || '"') AS VARCHAR) AS TIME) END""",
    "bq_parse_datetime(x)": """CASE
        WHEN regexp_full_match(x, '\\s*[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}'
        || '(:[0-9]{1,2}){2}(\\.[0-9]{1,6})?)?\\s*') THEN CAST(upper(x) AS TIMESTAMP)
        WHEN x IS NOT NULL THEN CAST(CAST(bq_error('Invalid datetime string "' || x || '"')
        AS VARCHAR) AS TIMESTAMP) END""",
    # Arithmetic
    "bq_divisor(b)": "CASE WHEN b = 0 THEN bq_error('division by zero') ELSE b END",
    "bq_divide(a, b)": """CASE WHEN b = 0 THEN CAST(bq_error('division by zero: '
        || bq_float_text(a) || ' / ' || bq_float_text(b)) AS DOUBLE) ELSE a / b END""",
    "bq_safe_divide(a, b)": """CASE
        WHEN b = 0 OR (isinf(a / b) AND isfinite(a) AND isfinite(b)) THEN NULL ELSE a / b END""",
    "bq_div(a, b)": """CASE WHEN b = 0
        THEN bq_error('division by zero: ' || a || ' / ' || b) ELSE a // b END""",
    "bq_mod(a, b)": """CASE WHEN b = 0
        THEN bq_error('division by zero: MOD(' || a || ', ' || b || ')') ELSE a % b END""",
    "bq_round_half_away(x, scale)": "CAST(round(x, scale) AS DECIMAL(38,9))",
    # `step` is 10^-scale. DuckDB's round_even is of floating-point numbers.
    "bq_round_half_even(x, scale, step)": """CASE
        WHEN abs(bq_round_half_away(x, scale) - x) * 2 = step
        AND bq_round_half_away(x, scale) % (step + step) != 0
        THEN bq_round_half_away(x, scale) - if(x > 0, step, -step)
        ELSE bq_round_half_away(x, scale) END""",
    "bq_floor_divide(a, b)": "a // b - CASE WHEN a % b < 0 THEN 1 ELSE 0 END",
    "bq_sqrt(x)": """CASE WHEN x < 0 THEN CAST(bq_error('Floating point error in function: SQRT('
        || bq_float_text(x) || ')') AS DOUBLE) ELSE sqrt(x) END""",
    "bq_ln(x)": """CASE WHEN x <= 0 THEN CAST(bq_error('Floating point error in function: LN('
        || bq_float_text(x) || ')') AS DOUBLE) ELSE ln(x) END""",
    "bq_log10(x)": """CASE WHEN x <= 0 THEN CAST(bq_error('Floating point error in function: LOG10('
        || bq_float_text(x) || ')') AS DOUBLE) ELSE log10(x) END""",
    "bq_log(x, b)": """CASE WHEN x <= 0 OR b <= 0 OR b = 1
        THEN CAST(bq_error('Floating point error in function: LOG(' || bq_float_text(x) || ', '
        || bq_float_text(b) || ')') AS DOUBLE) ELSE ln(x) / ln(b) END""",
    "bq_exp(x)": """CASE WHEN isinf(exp(x)) AND NOT isinf(x)
        THEN CAST(bq_error('Floating point error in function: EXP(' || bq_float_text(x) || ')')
        AS DOUBLE) ELSE exp(x) END""",
    "bq_pow(x, y)": """CASE WHEN isfinite(x) AND isfinite(y) AND NOT isfinite(pow(x, y))
        THEN CAST(bq_error('Floating point error in function: POW(' || bq_float_text(x) || ', '
        || bq_float_text(y) || ')') AS DOUBLE) ELSE pow(x, y) END""",
    "bq_signed(u)": """CAST(CASE WHEN u >= 9223372036854775808 THEN u - 18446744073709551616
        ELSE u END AS BIGINT)""",
    "bq_power_of_two(n)": "CAST(pow(2, n) AS HUGEINT)",
    "bq_shift_left(a, b)": """CASE WHEN b < 0 THEN bq_error('Bitwise shift by a negative offset')
        WHEN b > 63 THEN 0 ELSE bq_signed((CAST(a AS HUGEINT)
        & (18446744073709551615 // bq_power_of_two(b))) * bq_power_of_two(b)) END""",
    "bq_shift_right(a, b)": """CASE WHEN b < 0 THEN bq_error('Bitwise shift by a negative offset')
        WHEN b > 63 THEN 0 ELSE bq_signed((CAST(a AS HUGEINT) & 18446744073709551615)
        // bq_power_of_two(b)) END""",
    "bq_not_negative(n, name)": """CASE WHEN n < 0
        THEN bq_error('Second argument in ' || name || '() must be non-negative') ELSE n END""",
    "bq_range_bucket(x, bounds)": """CASE WHEN isnan(CAST(x AS DOUBLE)) THEN NULL
        ELSE CAST(len(list_filter(bounds, lambda e: e <= x)) AS BIGINT) END""",
    # Strings
    "bq_substr(x, place)": """CASE WHEN place > 0 THEN substr(x, place)
        WHEN place = 0 OR -place >= length(x) THEN x ELSE substr(x, place) END""",
    "bq_substr_n(x, place, n)": """CASE WHEN n < 0 THEN CAST(bq_error(
        'Third argument in SUBSTR() cannot be negative') AS VARCHAR)
        ELSE left(bq_substr(x, place), n) END""",
    # German sharp s: BigQuery follows Unicode's simple mapping, which keeps it.
    "bq_upper(x)": "replace(upper(x), 'ẞ', 'ß')",
    "bq_reverse(x)": "array_to_string(list_reverse(string_split(x, '')), '')",
    "bq_split(x, separator)": "CASE WHEN separator IS NOT NULL THEN string_split(x, separator) END",
    "bq_ascii(x)": """CASE WHEN x = '' THEN 0 WHEN ascii(x) > 127
        THEN bq_error('Non-ASCII character: ' || left(x, 1)) ELSE CAST(ascii(x) AS BIGINT) END""",
    # JSON
    "bq_path(path)": """CASE WHEN path IS NULL OR starts_with(path, '$') THEN path
        ELSE CAST(bq_error('JSONPath must start with ''$''') AS VARCHAR) END""",
    "bq_json_value(x, path)": """CASE
        WHEN json_type(x, bq_path(path)) IN ('OBJECT', 'ARRAY') THEN NULL
        ELSE json_extract_string(x, path) END""",
    "bq_json_scalar(x, name, kinds)": """CASE
        WHEN list_contains(kinds, json_type(x)) THEN json_extract_string(x, '$')
        WHEN x IS NOT NULL
        THEN CAST(bq_error('The provided JSON input is not ' || name) AS VARCHAR) END""",
    "bq_json_int64(x)": """CASE WHEN CAST(x AS DOUBLE) = trunc(CAST(x AS DOUBLE))
        THEN CAST(CAST(x AS DECIMAL(38,9)) AS BIGINT) WHEN x IS NOT NULL
        THEN bq_error('The provided JSON number: ' || x || ' cannot be converted to an int64')
        END""",
    # Arrays
    "bq_in(x, items)": """CASE WHEN list_contains(items, x) THEN true
        WHEN items IS NULL OR len(items) = 0 THEN false
        WHEN x IS NULL OR list_count(items) < len(items) THEN NULL ELSE false END""",
    "bq_element_safe(items, place)": "CASE WHEN place < 1 THEN NULL ELSE items[place] END",
    "bq_element(items, place)": """items[CASE WHEN place < 1 OR place > len(items)
        THEN bq_error('Array index ' || (place - 1) || ' is out of bounds') ELSE place END]""",
    # Of an array without elements, or of NULLs alone, ''; DuckDB has NULL for the latter.
    "bq_array_to_string(items, separator)": """CASE WHEN separator IS NOT NULL
        THEN array_to_string(list_filter(items, lambda e: e IS NOT NULL), separator) END""",
    "bq_array_to_string_null(items, separator, missing)": """CASE WHEN missing IS NOT NULL
        THEN bq_array_to_string(list_transform(items, lambda e: coalesce(e, missing)), separator)
        END""",
    "bq_step(n)": "CASE WHEN n = 0 THEN bq_error('Sequence step cannot be 0.') ELSE n END",
    "bq_generate_array(a, b, step)": "generate_series(a, b, bq_step(step))",
    "bq_generate_float_array(a, b, step)": """CASE WHEN step = 0
        THEN [CAST(bq_error('Sequence step cannot be 0.') AS DOUBLE)]
        WHEN (b - a) / step < 0 THEN CAST([] AS DOUBLE[])
        ELSE list_transform(range(CAST(floor((b - a) / step) AS BIGINT) + 1),
            lambda i: a + i * step) END""",
    "bq_no_nulls(items, name)": """CASE WHEN list_count(items) < len(items)
        THEN list_transform(items, lambda e: CASE WHEN bq_error(
            'Array cannot have a null element; error in writing field ' || name) = 0 THEN e END)
        ELSE items END""",
    # NULL is one of the values; list_distinct leaves it out.
    "bq_top_count(items, n)": """list_transform(list_slice(list_sort(list_transform(
        CASE WHEN list_count(items) < len(items) THEN list_append(list_distinct(items), NULL)
        ELSE list_distinct(items) END,
        lambda e: {'n': -len(list_filter(items, lambda o: o IS NOT DISTINCT FROM e)), 'v': e})),
        1, n), lambda p: {'value': p.v, 'count': -p.n})""",
    # Dates
    "bq_week_start(day, first)": "(day - CAST((dayofweek(day) - first + 7) % 7 AS INTEGER))",
}  # fmt: skip


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Define the macros and functions, for all connections to the database."""
    for signature, body in _MACROS.items():
        connection.execute(f"CREATE OR REPLACE MACRO {signature} AS {body}")
    numeric, big = "DECIMAL(38,9)", "BIGINT"
    for name, function, parameters, result in (
        ("bq_farm_fingerprint", _fingerprints, ["BLOB"], big),
        ("bq_numeric_multiply", _products, [numeric, numeric], numeric),
        ("bq_numeric_divide", _quotients, [numeric, numeric], numeric),
    ):
        connection.create_function(
            name,
            function,
            [duckdb.sqltype(p) for p in parameters],
            duckdb.sqltype(result),
            type="arrow",
        )


def fingerprint(data: bytes) -> int:
    """FARM_FINGERPRINT: FarmHash's Fingerprint64 as a signed 64-bit integer."""
    unsigned = farmhash.fingerprint64(data)
    return unsigned - (1 << 64) if unsigned >= 1 << 63 else unsigned


def _fingerprints(column: pa.ChunkedArray) -> pa.Array:
    values = column.to_pylist()
    missing = [value is None for value in values] if column.null_count else None
    if missing:
        values = [value or b"" for value in values]
    unsigned = np.fromiter(map(farmhash.fingerprint64, values), np.uint64, len(values))
    return pa.array(unsigned.view(np.int64), mask=None if missing is None else np.array(missing))


_EXACT = Context(prec=80, rounding=ROUND_HALF_UP)
_NANO = Decimal("1e-9")
_LIMIT = Decimal(10) ** 29


def _numeric(value: Decimal) -> Decimal:
    rounded = value.quantize(_NANO, context=_EXACT)
    if abs(rounded) >= _LIMIT:
        raise ValueError(f"bq:numeric overflow: {value:f}")
    return rounded


def _products(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.Array:
    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    found = [None if None in pair else _numeric(_EXACT.multiply(*pair)) for pair in pairs]
    return pa.array(found, pa.decimal128(38, 9))


def _quotients(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.Array:
    found: list[Decimal | None] = []
    for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True):
        if a is None or b is None:
            found.append(None)
        elif b == 0:
            raise ValueError(f"bq:division by zero: {a.normalize():f} / 0")
        else:
            found.append(_numeric(_EXACT.divide(a, b)))
    return pa.array(found, pa.decimal128(38, 9))
