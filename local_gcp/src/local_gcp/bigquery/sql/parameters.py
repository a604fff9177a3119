"""Converts REST's query parameters to literals.

https://cloud.google.com/bigquery/docs/reference/rest/v2/QueryParameter
"""

from __future__ import annotations

import base64
import math
from typing import Any

from sqlglot import exp

from local_gcp.bigquery.errors import invalid, invalid_query
from local_gcp.bigquery.schema import type_name

from .context import Context
from .types import Type, Value, array_of, literal, pack, struct_name


def value(ctx: Context, node: exp.Expression) -> Value:
    """The value of `@name` or `?`."""
    parameters = ctx.job.settings.parameters
    if isinstance(node, exp.Placeholder):
        index = ctx.job.positional.index(node.meta["start"])
        if index >= len(parameters):
            raise invalid_query(
                f"Query parameter number {index + 1} is not defined ({len(parameters)} defined)",
                ctx.job.position(node),
            )
        return from_api(parameters[index])
    if isinstance(node.this, exp.Parameter):
        raise ctx.not_emulated(f"system variable @{node.this.sql('bigquery')}", node)
    name = node.this.name
    for parameter in parameters:
        if (parameter.get("name") or "").lower() == name.lower():
            return from_api(parameter)
    raise ctx.error(f"Query parameter '{name}' not found", node)


def from_api(parameter: dict) -> Value:
    """Read a REST QueryParameter; raises BigQueryError(invalid)."""
    kind = _type(parameter.get("parameterType") or {})
    return _value(parameter.get("parameterValue") or {}, kind, parameter.get("name") or "")


def _type(resource: dict) -> Type:
    name = (resource.get("type") or "").upper()
    if name == "ARRAY":
        return array_of(_type(resource.get("arrayType") or {}))
    if name == "STRUCT":
        fields = resource.get("structTypes") or []
        return Type(
            "STRUCT",
            fields=tuple((f.get("name") or "", _type(f.get("type") or {})) for f in fields),
        )
    return Type(type_name(name, "query parameter"))


def _value(resource: dict, kind: Type, name: str) -> Value:
    if kind.element:
        given = resource.get("arrayValues")
        if given is None:
            return Value(f"CAST(NULL AS {kind.duckdb})", kind, literal=True)
        items = tuple(_value(item, kind.element, name) for item in given)
        sql = f"CAST([{', '.join(i.sql for i in items)}] AS {kind.duckdb})"
        return Value(sql, kind, literal=True, items=items)
    if kind.name == "STRUCT":
        given = resource.get("structValues") or {}
        items = tuple(_value(given.get(field) or {}, t, name) for field, t in kind.fields)
        pairs = [(struct_name(f, i), items[i].sql) for i, (f, _) in enumerate(kind.fields)]
        return Value(pack(pairs), kind, literal=True, items=items)
    given = resource.get("value")
    if given is None:
        return Value(f"CAST(NULL AS {kind.duckdb})", kind, literal=True)
    try:
        known = _parse(str(given), kind)
    except ValueError:
        raise invalid(
            f"Invalid value for query parameter {name}: {given} is not of type {kind}"
        ) from None
    if kind.name == "BYTES":
        return Value(f"from_base64({literal(given)})", kind, literal=True, text=known)
    if kind.name == "STRING":
        return Value(literal(given), kind, literal=True, text=known)
    finite = kind.name != "FLOAT64" or math.isfinite(known)
    sql = f"CAST({literal(known)} AS {kind.duckdb})"
    return Value(sql, kind, literal=True, text=known if finite else None)


def _parse(given: str, kind: Type) -> Any:
    """The Python value of a scalar; for times, text that DuckDB parses."""
    if kind.name == "INT64":
        return int(given)
    if kind.name == "FLOAT64":
        return float(given)
    if kind.name == "BOOL":
        if given.lower() not in ("true", "false"):
            raise ValueError(given)
        return given.lower()
    if kind.name == "BYTES":
        return base64.b64decode(given, validate=True)
    return given
