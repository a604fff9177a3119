"""Reads newline-delimited JSON files as rows of a table.

https://cloud.google.com/bigquery/docs/loading-data-cloud-storage-json
"""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

from .csv_source import _type, cast
from .database import literal, quoted
from .errors import invalid
from .files import is_gzip
from .schema import Field

_SAMPLE_ROWS = 500
_LARGEST_ROW = 16 << 20
"""Bytes."""


class JsonSource:
    """The files, one object per line."""

    def __init__(self, paths: list[Path], configuration: dict[str, Any]):
        self.paths = paths
        self.ignore_unknown = bool(configuration.get("ignoreUnknownValues"))

    def detect(self) -> list[Field]:
        """Names, types and modes of the columns from the first rows."""
        found: dict[str, list[Any]] = {}
        for row in self._sample():
            for name, value in row.items():
                found.setdefault(name, []).append(value)
        return [_detected(name, values) for name, values in found.items()]

    def query(self, fields: list[Field], strict: bool) -> str:
        """DuckDB query for the rows; an unknown member is an error unless ignored."""
        values = [f"{value(f, f'row -> {path(f)}', strict)} AS {quoted(f.name)}" for f in fields]
        where = ""
        if not self.ignore_unknown:
            known = ", ".join(literal(f.name.lower()) for f in fields) or "''"
            unknown = f"list_filter(json_keys(row), lambda k: lower(k) NOT IN ({known}))"
            message = "'JSON parsing error: No such field: ' || " + f"{unknown}[1]" + " || '.'"
            where = f" WHERE CASE WHEN len({unknown}) > 0 THEN error({message}) ELSE true END"
        return f"SELECT {', '.join(values)} FROM ({self.objects()}){where}"

    def objects(self) -> str:
        """DuckDB query for the objects, each in a JSON column `row`."""
        parts = []
        for zipped in (False, True):
            paths = [literal(str(p)) for p in self.paths if is_gzip(p) == zipped]
            if paths:
                kind = "gzip" if zipped else "uncompressed"
                parts.append(
                    f"SELECT json AS row FROM read_ndjson_objects([{', '.join(paths)}], "
                    f"compression = '{kind}', maximum_object_size = {_LARGEST_ROW})"
                )
        return " UNION ALL ".join(parts)

    def _sample(self) -> list[dict[str, Any]]:
        path = self.paths[0]
        with (gzip.open if is_gzip(path) else open)(path, "rt", encoding="utf-8") as file:
            lines = itertools.islice((line for line in file if line.strip()), _SAMPLE_ROWS)
            try:
                rows = [json.loads(line) for line in lines]
            except ValueError as error:
                raise invalid(f"Error while reading data, error message: {error}") from None
        if not all(isinstance(row, dict) for row in rows):
            raise invalid("Error while reading data, error message: a row is not a JSON object.")
        return rows


def path(field: Field) -> str:
    """JSON path of a member, as a DuckDB literal."""
    return literal('$."' + field.name.replace('"', '\\"') + '"')


def value(field: Field, json: str, strict: bool, depth: int = 0) -> str:
    """DuckDB expression that converts the JSON expression `json` to a value of `field`."""
    if field.repeated:
        name = f"e{depth}"
        items = f"CAST({json} AS JSON[])"
        each = value(field.element, name, strict, depth + 1)
        return f"coalesce(list_transform({items}, lambda {name}: {each}), [])"
    if field.type == "STRUCT":
        parts = [
            f"{quoted(f.name)} := {value(f, f'({json} -> {path(f)})', strict, depth)}"
            for f in field.fields
        ]
        expression = f"struct_pack({', '.join(parts)})"
        return f"CASE WHEN json_type({json}) = 'OBJECT' THEN {expression} END"
    if field.type == "JSON":
        return f"CASE WHEN json_type({json}) IS NOT NULL THEN CAST({json} AS JSON) END"
    text = f"({json} ->> '$')"
    if field.type == "TIMESTAMP":  # a number is seconds since 1970
        number = f"to_timestamp(CAST({text} AS DOUBLE))"
        return (
            f"CASE WHEN json_type({json}) IN ('BIGINT', 'UBIGINT', 'DOUBLE') THEN {number} "
            f"ELSE {cast(text, field, strict)} END"
        )
    return cast(text, field, strict)


def _detected(name: str, values: list[Any]) -> Field:
    values = [value for value in values if value is not None]
    if any(isinstance(value, list) for value in values):
        items = [
            item for value in values for item in (value if isinstance(value, list) else [value])
        ]
        field = _detected(name, items)
        return Field(name, field.type, "REPEATED", field.fields)
    if any(isinstance(value, dict) for value in values):
        members: dict[str, list[Any]] = {}
        for each in values:
            for key, item in each.items() if isinstance(each, dict) else ():
                members.setdefault(key, []).append(item)
        return Field(name, "STRUCT", fields=tuple(_detected(k, v) for k, v in members.items()))
    kinds = {_scalar(value) for value in values}
    if kinds == {"INT64", "FLOAT64"}:
        kinds = {"FLOAT64"}
    return Field(name, kinds.pop() if len(kinds) == 1 else "STRING")


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOL"
    if isinstance(value, int):
        return "INT64"
    if isinstance(value, float):
        return "FLOAT64"
    return _type([value])
