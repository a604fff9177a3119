"""String and byte functions, hashes, and JSON.

https://cloud.google.com/bigquery/docs/reference/standard-sql/string_functions
https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions
"""

from __future__ import annotations

from sqlglot import exp

from local_gcp.bigquery.sql.context import Context
from local_gcp.bigquery.sql.types import BYTES, INT64, STRING, Value, array_of, coerce, literal

from .signatures import no_signature, table

SIGNATURES = table(r"""
ASCII(STRING) -> INT64 = bq_ascii({0})
BYTE_LENGTH(STRING) -> INT64 = octet_length(encode({0}))
BYTE_LENGTH(BYTES) -> INT64 = octet_length({0})
OCTET_LENGTH(STRING) -> INT64 = octet_length(encode({0}))
OCTET_LENGTH(BYTES) -> INT64 = octet_length({0})
CHAR_LENGTH(STRING) -> INT64 = length({0})
CHARACTER_LENGTH(STRING) -> INT64 = length({0})
LENGTH(STRING) -> INT64 = length({0})
LENGTH(BYTES) -> INT64 = octet_length({0})
CHR(INT64) -> STRING = CASE WHEN {0} = 0 THEN '' ELSE chr(CAST({0} AS INTEGER)) END
UNICODE(STRING) -> INT64 = CASE WHEN {0} = '' THEN 0 ELSE CAST(unicode({0}) AS BIGINT) END
STARTS_WITH(STRING, STRING) -> BOOL = starts_with({0}, {1})
ENDS_WITH(STRING, STRING) -> BOOL = ends_with({0}, {1})
STRPOS(STRING, STRING) -> INT64 = CAST(strpos({0}, {1}) AS BIGINT)
INSTR(STRING, STRING) -> INT64 = CAST(strpos({0}, {1}) AS BIGINT)
LOWER(STRING) -> STRING = lower({0})
UPPER(STRING) -> STRING = bq_upper({0})
LEFT(STRING, INT64) -> STRING = left({0}, bq_not_negative({1}, 'LEFT'))
RIGHT(STRING, INT64) -> STRING = right({0}, bq_not_negative({1}, 'RIGHT'))
LPAD(STRING, INT64) -> STRING = lpad({0}, CAST(bq_not_negative({1}, 'LPAD') AS INTEGER), ' ')
LPAD(STRING, INT64, STRING) -> STRING =
    lpad({0}, CAST(bq_not_negative({1}, 'LPAD') AS INTEGER), {2})
RPAD(STRING, INT64) -> STRING = rpad({0}, CAST(bq_not_negative({1}, 'RPAD') AS INTEGER), ' ')
RPAD(STRING, INT64, STRING) -> STRING =
    rpad({0}, CAST(bq_not_negative({1}, 'RPAD') AS INTEGER), {2})
TRIM(STRING) -> STRING = trim({0}, bq_white_space())
TRIM(STRING, STRING) -> STRING = trim({0}, {1})
LTRIM(STRING) -> STRING = ltrim({0}, bq_white_space())
LTRIM(STRING, STRING) -> STRING = ltrim({0}, {1})
RTRIM(STRING) -> STRING = rtrim({0}, bq_white_space())
RTRIM(STRING, STRING) -> STRING = rtrim({0}, {1})
REPEAT(STRING, INT64) -> STRING = repeat({0}, bq_not_negative({1}, 'REPEAT'))
REPLACE(STRING, STRING, STRING) -> STRING =
    CASE WHEN {1} = '' THEN {0} ELSE replace({0}, {1}, {2}) END
REVERSE(STRING) -> STRING = bq_reverse({0})
SPLIT(STRING) -> ARRAY<STRING> = string_split({0}, ',')
SPLIT(STRING, STRING) -> ARRAY<STRING> = bq_split({0}, {1})
SUBSTR(STRING, INT64) -> STRING = bq_substr({0}, {1})
SUBSTR(STRING, INT64, INT64) -> STRING = bq_substr_n({0}, {1}, {2})
SUBSTRING(STRING, INT64) -> STRING = bq_substr({0}, {1})
SUBSTRING(STRING, INT64, INT64) -> STRING = bq_substr_n({0}, {1}, {2})
TRANSLATE(STRING, STRING, STRING) -> STRING = translate({0}, {1}, {2})
EDIT_DISTANCE(STRING, STRING) -> INT64 = CAST(levenshtein({0}, {1}) AS BIGINT)
REGEXP_CONTAINS(STRING, STRING) -> BOOL = regexp_matches({0}, {1})
TO_BASE64(BYTES) -> STRING = base64({0})
FROM_BASE64(STRING) -> BYTES = from_base64({0})
TO_HEX(BYTES) -> STRING = lower(hex({0}))
FROM_HEX(STRING) -> BYTES = unhex({0})
MD5(STRING) -> BYTES = unhex(md5({0}))
MD5(BYTES) -> BYTES = unhex(md5({0}))
SHA1(STRING) -> BYTES = unhex(sha1({0}))
SHA1(BYTES) -> BYTES = unhex(sha1({0}))
SHA256(STRING) -> BYTES = unhex(sha256({0}))
SHA256(BYTES) -> BYTES = unhex(sha256({0}))
GENERATE_UUID() -> STRING = CAST(uuid() AS VARCHAR)
PARSE_JSON(STRING) -> JSON = CAST({0} AS JSON)
JSON_VALUE(JSON, STRING) -> STRING = bq_json_value({0}, {1})
JSON_VALUE(STRING, STRING) -> STRING = bq_json_value({0}, {1})
JSON_VALUE(JSON) -> STRING = bq_json_value({0}, '$')
JSON_VALUE(STRING) -> STRING = bq_json_value({0}, '$')
JSON_EXTRACT_SCALAR(JSON, STRING) -> STRING = bq_json_value({0}, {1})
JSON_EXTRACT_SCALAR(STRING, STRING) -> STRING = bq_json_value({0}, {1})
JSON_QUERY(JSON, STRING) -> JSON = json_extract({0}, bq_path({1}))
JSON_QUERY(STRING, STRING) -> STRING = CAST(json_extract({0}, bq_path({1})) AS VARCHAR)
JSON_EXTRACT(JSON, STRING) -> JSON = json_extract({0}, bq_path({1}))
JSON_EXTRACT(STRING, STRING) -> STRING = CAST(json_extract({0}, bq_path({1})) AS VARCHAR)
JSON_QUERY_ARRAY(JSON, STRING) -> ARRAY<JSON> = CAST(json_extract({0}, bq_path({1})) AS JSON[])
JSON_VALUE_ARRAY(JSON, STRING) -> ARRAY<STRING> =
    CAST(json_extract({0}, bq_path({1})) AS VARCHAR[])
JSON_VALUE_ARRAY(STRING, STRING) -> ARRAY<STRING> =
    CAST(json_extract({0}, bq_path({1})) AS VARCHAR[])
BOOL(JSON) -> BOOL = CAST(bq_json_scalar({0}, 'a boolean', ['BOOLEAN']) AS BOOLEAN)
INT64(JSON) -> INT64 =
    bq_json_int64(bq_json_scalar({0}, 'an integer', ['BIGINT', 'UBIGINT', 'DOUBLE']))
FLOAT64(JSON) -> FLOAT64 =
    CAST(bq_json_scalar({0}, 'a number', ['BIGINT', 'UBIGINT', 'DOUBLE']) AS DOUBLE)
STRING(JSON) -> STRING = bq_json_scalar({0}, 'a string', ['VARCHAR'])
STRING(TIMESTAMP) -> STRING = bq_timestamp_text({0})
STRING(DATE) -> STRING = CAST({0} AS VARCHAR)
STRING(DATETIME) -> STRING = bq_datetime_text({0})
STRING(TIME) -> STRING = bq_time_text({0})
""")


def _groups(ctx: Context, pattern: Value, node: exp.Expression) -> int:
    """The number of capturing groups in a literal pattern."""
    if not isinstance(pattern.text, str):
        raise ctx.not_emulated(f"{node.name.upper()} with a pattern that is not a literal", node)
    count, in_class, escaped = 0, False, False
    text = pattern.text
    for index, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char == "(" and (text[index + 1 : index + 2] != "?" or text[index + 2 :][:2] == "P<"):
            count += 1
    if count > 1:
        raise ctx.error(
            f"Regular expression passed to {node.name.upper()} must not have more than 1 "
            "capturing group",
            node,
        )
    return count


def _text_and_pattern(
    ctx: Context, node: exp.Anonymous, values: list[Value]
) -> tuple[str, str, int]:
    if len(values) != 2:
        raise ctx.not_emulated(f"{node.name.upper()} with a position", node)
    text, pattern = coerce(values[0], STRING), coerce(values[1], STRING)
    if text is None or pattern is None:
        raise no_signature(ctx, node.name.upper(), values, node)
    return text, pattern, _groups(ctx, values[1], node)


def regexp_extract(ctx: Context, node: exp.Anonymous, values: list[Value]) -> Value:
    """REGEXP_EXTRACT: the group or the whole match; NULL without a match."""
    text, pattern, group = _text_and_pattern(ctx, node, values)
    sql = f"regexp_extract({text}, {pattern}, {group})"
    return Value(f"CASE WHEN regexp_matches({text}, {pattern}) THEN {sql} END", STRING)


def regexp_extract_all(ctx: Context, node: exp.Anonymous, values: list[Value]) -> Value:
    """REGEXP_EXTRACT_ALL."""
    text, pattern, group = _text_and_pattern(ctx, node, values)
    return Value(f"regexp_extract_all({text}, {pattern}, {group})", array_of(STRING))


def regexp_replace(ctx: Context, node: exp.Anonymous, values: list[Value]) -> Value:
    """REGEXP_REPLACE: all matches; `\\1` is a group in DuckDB too."""
    parts = [coerce(v, STRING) for v in values]
    if len(parts) != 3 or None in parts:
        raise no_signature(ctx, "REGEXP_REPLACE", values, node)
    return Value(f"regexp_replace({', '.join(parts)}, 'g')", STRING)


def concat(ctx: Context, node: exp.Anonymous, values: list[Value]) -> Value:
    """CONCAT of BYTES, or of values that can be cast to STRING; NULL if any argument is."""
    from local_gcp.bigquery.sql import casts

    if any(v.type == BYTES for v in values):
        kind, parts = BYTES, [coerce(v, BYTES) for v in values]
    else:
        kind, parts = STRING, [coerce(v, STRING) or casts.text(v) for v in values]
    if not parts or None in parts:
        raise no_signature(ctx, "CONCAT", values, node)
    return Value("(" + " || ".join(parts) + ")", kind)


def format_string(ctx: Context, node: exp.Anonymous, values: list[Value]) -> Value:
    """FORMAT with %d, %i, %s, %t, %f, %e, %g, %x and their widths, of a literal format."""
    import re

    from local_gcp.bigquery.sql import casts

    if not values or not isinstance(values[0].text, str):
        raise ctx.not_emulated("FORMAT with a format that is not a literal", node)
    arguments = iter(values[1:])
    parts: list[str] = []
    for text, spec, letter in re.findall(r"([^%]+)|%(-?0?\d*(?:\.\d+)?)(.)", values[0].text):
        if text or letter == "%":
            parts.append(literal(text or "%"))
            continue
        value = next(arguments, None)
        if value is None:
            raise ctx.error("Too few arguments to FORMAT for pattern", node)
        if letter in "dix" and coerce(value, INT64):
            letter = "d" if letter == "i" else letter
            parts.append(f"printf('%{spec}{letter}', {coerce(value, INT64)})")
        elif letter in "feEgG" and value.type.name in ("INT64", "FLOAT64", "NUMERIC"):
            parts.append(f"printf('%{spec}{letter}', CAST({value.sql} AS DOUBLE))")
        elif letter == "s" and value.type == STRING:
            parts.append(f"printf('%{spec}s', {value.sql})")
        elif letter == "t" and casts.text(value) is not None:
            parts.append(f"printf('%{spec}s', coalesce({casts.text(value)}, 'NULL'))")
        else:
            raise ctx.not_emulated(f"FORMAT's %{spec}{letter} for {value.type}", node)
    if next(arguments, None) is not None:
        raise ctx.error("Too many arguments to FORMAT for pattern", node)
    return Value("(" + " || ".join(parts or ["''"]) + ")", STRING)
