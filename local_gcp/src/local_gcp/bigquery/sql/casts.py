"""CAST: the conversions between types, and BigQuery's text form of values.

https://cloud.google.com/bigquery/docs/reference/standard-sql/conversion_functions#cast
"""

from __future__ import annotations

from sqlglot import exp

from .context import Context
from .types import Type, Value, array_of, coerce, literal, pack, struct_name

_NAMES = {
    **dict.fromkeys(["BIGINT", "INT", "SMALLINT", "TINYINT"], "INT64"),
    **dict.fromkeys(["TEXT", "VARCHAR"], "STRING"),
    **dict.fromkeys(["BINARY", "VARBINARY"], "BYTES"),
    **dict.fromkeys(["DOUBLE", "FLOAT"], "FLOAT64"),
    "BOOLEAN": "BOOL",
    "DECIMAL": "NUMERIC",
    "DATE": "DATE",
    "TIME": "TIME",
    "TIMESTAMP": "DATETIME",  # sqlglot's name for a timestamp without a zone
    "DATETIME": "DATETIME",
    "TIMESTAMPTZ": "TIMESTAMP",
    "JSON": "JSON",
}


def data_type(ctx: Context, node: exp.DataType) -> Type:
    """The type in a query's text."""
    name = node.this.name if not isinstance(node.this, str) else node.this
    if name == "ARRAY":
        element = data_type(ctx, node.expressions[0])
        if element.element:
            raise ctx.error("Arrays of arrays are not supported", node)
        return array_of(element)
    if name == "STRUCT":
        fields = []
        for part in node.expressions:
            if isinstance(part, exp.ColumnDef):
                if part.constraints:
                    constraint = part.constraints[0].sql("bigquery")
                    raise ctx.not_emulated(f"types with {constraint}", node)
                fields.append((part.name, data_type(ctx, part.kind)))
            else:
                fields.append(("", data_type(ctx, part)))
        return Type("STRUCT", fields=tuple(fields))
    if name not in _NAMES:
        raise ctx.not_emulated(f"type {node.sql('bigquery')}", node)
    if node.expressions:
        raise ctx.not_emulated(f"parameterized type {node.sql('bigquery')}", node)
    if node.args.get("collate"):
        raise ctx.not_emulated("types with COLLATE", node)
    return Type(_NAMES[name])


# (from, to): template; None is DuckDB's own cast.
_CASTS: dict[tuple[str, str], str | None] = {
    ("INT64", "BOOL"): None,
    ("INT64", "NUMERIC"): None,
    ("INT64", "FLOAT64"): None,
    ("INT64", "STRING"): None,
    ("NUMERIC", "INT64"): "CAST(round({0}, 0) AS BIGINT)",
    ("NUMERIC", "FLOAT64"): None,
    ("NUMERIC", "STRING"): "bq_numeric_text({0})",
    ("FLOAT64", "INT64"): "CAST(round({0}) AS BIGINT)",
    ("FLOAT64", "NUMERIC"): None,
    ("FLOAT64", "STRING"): "bq_float_text({0})",
    ("BOOL", "INT64"): None,
    ("BOOL", "STRING"): None,
    ("STRING", "INT64"): "bq_parse_int64({0})",
    ("STRING", "NUMERIC"): "bq_parse_numeric({0})",
    ("STRING", "FLOAT64"): "bq_parse_float64({0})",
    ("STRING", "BOOL"): "bq_parse_bool({0})",
    ("STRING", "BYTES"): "encode({0})",
    ("STRING", "DATE"): "bq_parse_date({0})",
    ("STRING", "TIME"): "bq_parse_time({0})",
    ("STRING", "DATETIME"): "bq_parse_datetime({0})",
    ("STRING", "TIMESTAMP"): None,
    ("BYTES", "STRING"): "decode({0})",
    ("DATE", "STRING"): None,
    ("DATE", "DATETIME"): None,
    ("DATE", "TIMESTAMP"): None,
    ("TIME", "STRING"): "bq_time_text({0})",
    ("DATETIME", "STRING"): "bq_datetime_text({0})",
    ("DATETIME", "DATE"): None,
    ("DATETIME", "TIME"): None,
    ("DATETIME", "TIMESTAMP"): None,
    ("TIMESTAMP", "STRING"): "bq_timestamp_text({0})",
    ("TIMESTAMP", "DATE"): None,
    ("TIMESTAMP", "TIME"): "CAST(CAST({0} AS TIMESTAMP) AS TIME)",
    ("TIMESTAMP", "DATETIME"): None,
}


def cast(ctx: Context, value: Value, to: Type, node: exp.Expression | None) -> str:
    """The SQL of CAST(value AS to); raises an error if GoogleSQL has no such conversion."""
    if value.null:
        return coerce(value, to)
    sql = _cast(value.sql, value.type, to)
    if sql is None:
        raise ctx.error(f"Invalid cast from {value.type} to {to}", node)
    return sql


def _cast(sql: str, source: Type, to: Type) -> str | None:
    if source == to:
        return sql
    if source.element and to.element:
        inner = _cast("e", source.element, to.element)
        return inner and f"list_transform({sql}, lambda e: {inner})"
    if source.name == to.name == "STRUCT" and len(source.fields) == len(to.fields):
        fields = []
        for i, ((name, s), (new, t)) in enumerate(zip(source.fields, to.fields, strict=True)):
            inner = _cast(f"struct_extract({sql}, {literal(struct_name(name, i))})", s, t)
            if inner is None:
                return None
            fields.append((new, inner))
        return f"CASE WHEN {sql} IS NULL THEN NULL ELSE {pack(fields)} END"
    pair = (source.name, to.name)
    if pair not in _CASTS:
        return None
    return (_CASTS[pair] or f"CAST({{0}} AS {to.duckdb})").format(sql)


def text(value: Value) -> str | None:
    """The SQL of CAST(value AS STRING); None for types without a text form."""
    return _cast(value.sql, value.type, Type("STRING"))
