"""Reads Parquet and Avro files as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from .database import lend, literal, quoted
from .errors import BigQueryError, invalid
from .schema import Field, arrow_schema, field_from_arrow

_BATCH_ROWS = 10_000


class ParquetSource:
    """Parquet files, which DuckDB reads one row group at a time."""

    def __init__(self, paths: list[Path], configuration: dict[str, Any]):
        self.paths = paths
        options = configuration.get("parquetOptions") or {}
        self.infer_lists = bool(options.get("enableListInference"))
        self.enum_as_string = bool(options.get("enumAsString"))

    def detect(self) -> list[Field]:
        """The columns of the last file, with BigQuery's types.

        Without enableListInference a LIST becomes what its Parquet schema is: a STRUCT with
        one repeated group. https://cloud.google.com/bigquery/docs/loading-data-cloud-storage-parquet
        """
        try:
            schema = pq.read_schema(self.paths[-1])
        except pa.ArrowInvalid as error:
            raise invalid(f"Error while reading data, error message: {error}") from None
        fields = []
        for column in schema:
            field = field_from_arrow(column)
            if field.repeated and not self.infer_lists:
                field = _as_group(field)
            fields.append(field if field.repeated else _nullable(field))
        return fields

    def query(self, fields: list[Field], cursor: duckdb.DuckDBPyConnection) -> str:
        """DuckDB query for the rows; columns that a file lacks are NULL."""
        own = {f.name.lower(): f for f in self.detect()}
        files = ", ".join(literal(str(path)) for path in self.paths)
        values = []
        for field in fields:
            name = quoted(field.name)
            found = own.get(field.name.lower())
            if found is None:
                values.append(f"CAST(NULL AS {field.duckdb}) AS {name}")
                continue
            value = quoted(found.name)
            if found.type == "STRUCT" and _is_group(found):
                item = _group_item(found)
                value = f"{{'list': list_transform({value}, lambda x: {{{literal(item)}: x}})}}"
            values.append(f"CAST({value} AS {field.duckdb}) AS {name}")
        return f"SELECT {', '.join(values)} FROM read_parquet([{files}], union_by_name = true)"


class AvroSource:
    """Avro files, read row by row."""

    def __init__(self, paths: list[Path], configuration: dict[str, Any]):
        self.paths = paths
        self.logical = bool(configuration.get("useAvroLogicalTypes"))

    def detect(self) -> list[Field]:
        """The columns of the last file."""
        with self.paths[-1].open("rb") as file:
            try:
                schema = fastavro.reader(file).writer_schema
            except ValueError as error:
                raise invalid(f"Error while reading data, error message: {error}") from None
        assert isinstance(schema, dict)
        if schema.get("type") != "record":
            raise invalid("The Avro schema of a table is a record.")
        return [_avro_field(f["name"], f["type"], self.logical) for f in schema["fields"]]

    def query(self, fields: list[Field], cursor: duckdb.DuckDBPyConnection) -> str:
        """DuckDB query for the rows; registers the reader with the cursor."""
        own = self.detect()
        reader = pa.RecordBatchReader.from_batches(arrow_schema(own), self._batches(own))
        lend(cursor, "avro_rows", reader)
        known = {f.name.lower() for f in own}
        values = [
            f"CAST({quoted(f.name) if f.name.lower() in known else 'NULL'} AS {f.duckdb}) "
            f"AS {quoted(f.name)}"
            for f in fields
        ]
        return f"SELECT {', '.join(values)} FROM avro_rows"

    def _batches(self, fields: list[Field]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(fields)
        for path in self.paths:
            with path.open("rb") as file:
                rows: list[dict] = []
                for row in fastavro.reader(file):
                    rows.append(row)  # type: ignore[arg-type]
                    if len(rows) == _BATCH_ROWS:
                        yield pa.RecordBatch.from_pylist(_plain(rows, self.logical), schema)
                        rows = []
                if rows:
                    yield pa.RecordBatch.from_pylist(_plain(rows, self.logical), schema)


def _nullable(field: Field) -> Field:
    return Field(field.name, field.type, "NULLABLE", field.fields)


def _as_group(field: Field) -> Field:
    element = field.element
    item = Field("element", element.type, "NULLABLE", element.fields)
    group = Field("list", "STRUCT", "REPEATED", (item,))
    return Field(field.name, "STRUCT", "NULLABLE", (group,))


def _is_group(field: Field) -> bool:
    return [f.name for f in field.fields] == ["list"] and field.fields[0].repeated


def _group_item(field: Field) -> str:
    return field.fields[0].fields[0].name


_AVRO = {
    "boolean": "BOOL",
    "int": "INT64",
    "long": "INT64",
    "float": "FLOAT64",
    "double": "FLOAT64",
    "bytes": "BYTES",
    "fixed": "BYTES",
    "string": "STRING",
    "enum": "STRING",
    "null": "STRING",
}
_LOGICAL = {
    "date": "DATE",
    "time-micros": "TIME",
    "time-millis": "TIME",
    "timestamp-micros": "TIMESTAMP",
    "timestamp-millis": "TIMESTAMP",
    "local-timestamp-micros": "DATETIME",
    "local-timestamp-millis": "DATETIME",
    "decimal": "NUMERIC",
}


def _avro_field(name: str, kind: Any, logical: bool) -> Field:
    """https://cloud.google.com/bigquery/docs/loading-data-cloud-storage-avro#avro_conversions"""
    if isinstance(kind, list):
        rest = [k for k in kind if k != "null"]
        if len(rest) != 1:
            raise BigQueryError(
                "notImplemented", f"local_gcp does not emulate Avro unions ({name})."
            )
        field = _avro_field(name, rest[0], logical)
        nullable = field.mode == "REQUIRED" and len(rest) < len(kind)
        return _nullable(field) if nullable else field
    if isinstance(kind, str):
        return Field(name, _AVRO[kind], "REQUIRED")
    inner = kind["type"]
    if inner == "array":
        element = _avro_field(name, kind["items"], logical)
        return Field(name, element.type, "REPEATED", element.fields)
    if inner == "record":
        fields = tuple(_avro_field(f["name"], f["type"], logical) for f in kind["fields"])
        return Field(name, "STRUCT", "REQUIRED", fields)
    if inner == "map":
        raise BigQueryError("notImplemented", f"local_gcp does not emulate Avro maps ({name}).")
    if kind.get("sqlType") == "JSON":
        return Field(name, "JSON", "REQUIRED")
    meaning = kind.get("logicalType")
    if meaning in _LOGICAL and (logical or meaning == "decimal"):
        return Field(name, _LOGICAL[meaning], "REQUIRED")
    if meaning == "datetime" and inner == "string":
        return Field(name, "DATETIME", "REQUIRED")
    return _avro_field(name, inner, logical)


def _plain(rows: list[dict], logical: bool) -> list[dict]:
    """Rows for Arrow; without logical types, times are the numbers that Avro stores."""
    if logical:
        return rows
    return [{name: _number(value) for name, value in row.items()} for row in rows]


def _number(value: Any) -> Any:
    import datetime

    if isinstance(value, datetime.datetime):
        zone = datetime.UTC if value.tzinfo else None
        return (value - datetime.datetime(1970, 1, 1, tzinfo=zone)) // datetime.timedelta(
            microseconds=1
        )
    if isinstance(value, datetime.date):
        return value.toordinal() - datetime.date(1970, 1, 1).toordinal()
    if isinstance(value, datetime.time):
        return (
            (value.hour * 60 + value.minute) * 60 + value.second
        ) * 1_000_000 + value.microsecond
    return value
