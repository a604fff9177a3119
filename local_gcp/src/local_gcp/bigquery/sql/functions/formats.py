"""FORMAT_DATE, PARSE_DATE etc.: converts format elements to DuckDB's strftime and strptime.

https://cloud.google.com/bigquery/docs/reference/standard-sql/format-elements#format_elements_date_time
"""

from __future__ import annotations

import re

from sqlglot import exp

from local_gcp.bigquery.sql.context import Context
from local_gcp.bigquery.sql.dispatch import translate
from local_gcp.bigquery.sql.types import STRING, TIME, TIMESTAMP, Type, Value, coerce, literal

from .signatures import no_signature

_ELEMENT = re.compile(r"%(E(?:4Y|\*S|\dS|z)|.)|([^%]+)", re.DOTALL)
# Elements that abbreviate others.
_SHORT = {
    "F": "%Y-%m-%d",
    "T": "%H:%M:%S",
    "X": "%H:%M:%S",
    "R": "%H:%M",
    "D": "%m/%d/%y",
    "x": "%m/%d/%y",
    "h": "%b",
    "r": "%I:%M:%S %p",
    "c": "%a %b %e %H:%M:%S %Y",
    "E4Y": "%Y",
}
_SAME = set("aAbBdHIjmMpSuUVwWyYG")
_WRITTEN = {
    "e": "lpad(CAST(day({0}) AS VARCHAR), 2, ' ')",
    "k": "lpad(CAST(hour({0}) AS VARCHAR), 2, ' ')",
    "l": "lpad(CAST((hour({0}) + 11) % 12 + 1 AS VARCHAR), 2, ' ')",
    "P": "lower(strftime({0}, '%p'))",
    "s": "CAST(bq_floor_divide(epoch_us({0}), 1000000) AS VARCHAR)",
    "Q": "CAST(quarter({0}) AS VARCHAR)",
    "C": "lpad(CAST(year({0}) // 100 AS VARCHAR), 2, '0')",
    "n": "chr(10)",
    "t": "chr(9)",
    "%": "'%'",
    "E*S": "strftime({0}, '%S') || rtrim(rtrim(strftime({0}, '.%f'), '0'), '.')",
    "Z": "'UTC'",
    "z": "'+0000'",
    "Ez": "'+00:00'",
}


def _elements(ctx: Context, text: str, node: exp.Expression) -> list[tuple[str, str]]:
    """[(element, "") or ("", plain text)] with abbreviations written out."""
    found = []
    for element, plain in _ELEMENT.findall(text):
        if element in _SHORT:
            found += _elements(ctx, _SHORT[element], node)
        else:
            found.append((element, plain))
    return found


def format_time(ctx: Context, node: exp.Anonymous) -> Value:
    """FORMAT_DATE, FORMAT_DATETIME, FORMAT_TIMESTAMP, FORMAT_TIME."""
    name = node.name.upper()
    kind = Type(name.partition("_")[2])
    values = [translate(ctx, n) for n in node.expressions]
    if len(values) < 2 or len(values) > (3 if kind == TIMESTAMP else 2):
        raise no_signature(ctx, name, values, node)
    pattern, value = values[0].text, coerce(values[1], kind)
    if not isinstance(pattern, str):
        raise ctx.not_emulated(f"{name} with a format that is not a literal", node)
    if value is None and kind != TIME and values[1].type.name in ("DATE", "DATETIME", "TIMESTAMP"):
        value = values[1].sql  # FORMAT_DATE accepts the other types too
    if value is None:
        raise no_signature(ctx, name, values, node)
    sql = f"CAST({value} AS TIMESTAMP)"
    if kind == TIME:
        sql = f"(DATE '1970-01-01' + {value})"
    zoned = len(values) == 3
    if zoned:
        sql = f"timezone({coerce(values[2], STRING)}, {value})"
    parts = []
    for element, plain in _elements(ctx, pattern, node):
        if plain:
            parts.append(literal(plain))
        elif element in _SAME:
            parts.append(f"strftime({sql}, '%{element}')")
        elif re.fullmatch(r"E\dS", element):
            digits = int(element[1])
            fraction = f"'.' || left(strftime({sql}, '%f'), {digits})" if digits else "''"
            parts.append(f"strftime({sql}, '%S') || {fraction}")
        elif element in _WRITTEN and not (zoned and element in ("s", "Z", "z", "Ez")):
            parts.append(_WRITTEN[element].format(sql))
        else:
            raise ctx.not_emulated(f"format element %{element} of {name}", node)
    return Value("(" + " || ".join(parts or ["''"]) + ")", STRING)


def parse_time(ctx: Context, node: exp.Anonymous) -> Value:
    """PARSE_DATE, PARSE_DATETIME, PARSE_TIMESTAMP, PARSE_TIME."""
    name = node.name.upper()
    kind = Type(name.partition("_")[2])
    values = [translate(ctx, n) for n in node.expressions]
    if len(values) < 2 or len(values) > (3 if kind == TIMESTAMP else 2):
        raise no_signature(ctx, name, values, node)
    text = coerce(values[1], STRING)
    if not isinstance(values[0].text, str) or text is None:
        raise ctx.not_emulated(f"{name} with a format that is not a literal", node)
    elements = _elements(ctx, values[0].text, node)
    used = {element for element, _ in elements if element}
    if kind != TIME and not used & {"Y", "y", "E4Y"}:
        # For a missing year BigQuery assumes 1970, DuckDB 1900.
        raise ctx.not_emulated(f"{name} with a format without a year", node)
    pattern = "".join(
        _parsed(ctx, name, element, node) if element else plain.replace("%", "%%")
        for element, plain in elements
    )
    sql = f"strptime({text}, {literal(pattern)})"
    if kind == TIMESTAMP and len(values) == 3:
        if used & {"z", "Ez", "Z"}:
            raise ctx.not_emulated(f"{name} with two time zones", node)
        return Value(f"timezone({coerce(values[2], STRING)}, {sql})", TIMESTAMP)
    return Value(f"CAST({sql} AS {kind.duckdb})", kind)


def _parsed(ctx: Context, name: str, element: str, node: exp.Expression) -> str:
    if element in set("aAbBdHIjmMpSyY%"):
        return f"%{element}"
    if element == "e":
        return "%d"
    if element == "k":
        return "%H"
    if element == "l":
        return "%I"
    if element in ("E*S", "E6S"):
        return "%S.%f"
    if element in ("z", "Ez"):
        return "%z"
    raise ctx.not_emulated(f"format element %{element} of {name}", node)
