"""Extract jobs and EXPORT DATA: DuckDB writes rows to files in Cloud Storage.

https://cloud.google.com/bigquery/docs/exporting-data
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

from . import streaming_buffer
from .database import Database, literal, quoted
from .errors import BigQueryError, invalid, not_emulated
from .files import Files
from .jobs import Job
from .locations import DEFAULT
from .locks import TableLocks
from .partitions import condition
from .refs import TableRef
from .schema import Field
from .sizes import FIXED_BYTES, Sizes

SHARD_BYTES = 64 << 20
"""Size of a file if the address has a wildcard; BigQuery's files have 1 GB at most."""
SINGLE_FILE_BYTES = 1 << 30
"""The most logical bytes that BigQuery writes to one file."""
ROW_GROUP_BYTES = 128 << 20
"""Approximate limit for a Parquet row group, which writer and readers hold in memory."""
_ROW_GROUP_ROWS = 122_880
"""The most rows of a row group."""
_VECTOR_ROWS = 2048
"""The number of rows in DuckDB's row groups is a multiple of this."""

_FORMATS = {"CSV": "csv", "NEWLINE_DELIMITED_JSON": "json", "PARQUET": "parquet"}
_COMPRESSIONS = {
    "CSV": ("NONE", "GZIP"),
    "NEWLINE_DELIMITED_JSON": ("NONE", "GZIP"),
    "PARQUET": ("NONE", "SNAPPY", "GZIP", "ZSTD"),
}


class ExtractWork:
    """Runs one extract job."""

    def __init__(self, writer: Exporter, locks: TableLocks, sizes: Sizes):
        self._writer, self._locks, self._sizes = writer, locks, sizes

    def __call__(self, job: Job) -> dict[str, Any]:
        configuration = job.configuration["extract"]
        uris = configuration.get("destinationUris") or [configuration.get("destinationUri")]
        if not all(isinstance(uri, str) for uri in uris):
            raise invalid("Required parameter is missing: destinationUris")
        ref = TableRef.from_api(configuration["sourceTable"])
        job.begin(self._locks)
        record = job.catalog.get(ref)
        if record.view_query is not None:
            raise invalid(f"{record.ref} is not allowed for this operation because it is a VIEW.")
        streaming_buffer.refuse(job.cursor, record, "extracts")
        partition = ref.partition
        where = f" WHERE {condition(record, partition)}" if partition else ""
        columns = ", ".join(quoted(f.name) for f in record.fields)
        query = f"SELECT {columns} FROM {record.sql}{where}"
        parts = self._sizes.partitions(job.cursor, record)
        read = [p for p in parts if partition in (None, p.id)]
        size, rows = sum(p.bytes for p in read), sum(p.rows for p in read)
        options = Options(
            configuration.get("destinationFormat") or "CSV",
            configuration.get("compression") or "NONE",
            configuration.get("printHeader", True),
            configuration.get("fieldDelimiter") or ",",
        )
        if len(uris) != 1:
            raise not_emulated("extracts to several addresses")
        options.row_group = row_group_rows(record.fields, size / rows if rows else None)
        count, _ = self._writer.write(job, record.fields, query, uris[0], options, size)
        return {
            "extract": {
                "destinationUriFileCounts": [str(count)],
                "inputBytes": str(size),
            },
            "totalBytesProcessed": str(size),
        }


class Options:
    """Format options. Raises BigQueryError for a format that BigQuery does not write."""

    def __init__(self, format: str, compression: str, header: bool, delimiter: str):
        self.format = {"JSON": "NEWLINE_DELIMITED_JSON"}.get(format.upper(), format.upper())
        self.compression = compression.upper()
        if self.format not in _FORMATS:
            raise not_emulated(f"extracts in the format {format}")
        if self.compression not in _COMPRESSIONS[self.format]:
            raise invalid(
                f"Compression {self.compression} is not supported for {self.format}; "
                f"use one of {', '.join(_COMPRESSIONS[self.format])}."
            )
        self.header = header
        self.row_group = _ROW_GROUP_ROWS
        self.delimiter = "\t" if delimiter in ("\\t", "tab") else delimiter


class Exporter:
    """Writes the rows of a query to addresses."""

    def __init__(self, database: Database, files: Files):
        self._database, self._files = database, files

    def write(
        self,
        job: Job,
        fields: list[Field],
        query: str,
        uri: str,
        options: Options,
        size: int,
    ) -> tuple[int, int]:
        """Write the rows of `query` (columns: `fields`). Returns (files, rows).

        `size`: logical bytes. The files appear after all are written, so that readers never see a
        partial export.
        """
        if uri.count("*") > 1:
            raise invalid(f"Invalid destination URI {uri}: at most one wildcard is allowed.")
        sharded = "*" in uri
        if not sharded and size > SINGLE_FILE_BYTES:
            raise invalid(
                "Table too large to be exported to a single file. Specify a uri including a * to "
                "shard export. See 'Exporting data into one or more files' in "
                "https://cloud.google.com/bigquery/docs/exporting-data."
            )
        self._files.path(uri.replace("*", "0" * 12))
        self._files.check_destination(uri, job.location or DEFAULT)
        self._check(fields, options)
        folder = self._database.temporary / f"extract_{job.id}_{id(job)}"
        folder.mkdir()
        try:
            written, rows = self._written(job, fields, query, options, folder, sharded)
            job.check()  # the last statement may have missed an interrupt
            for number, path in enumerate(written):
                self._files.publish(path, uri.replace("*", f"{number:012d}"))
            return len(written), rows
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def refuse_existing(self, uri: str) -> None:
        """Raise BigQueryError(invalidQuery) if files with that address exist."""
        try:
            found = self._files.matching([uri])
        except BigQueryError as error:
            if "Bucket" in error.message:
                raise
            return
        raise BigQueryError(
            "invalidQuery",
            f"Invalid destination URI {uri}: {found[0][0]} exists. Use the option overwrite=true.",
            "query",
        )

    def _check(self, fields: list[Field], options: Options) -> None:
        nested = next((f for f in fields if f.repeated or f.type == "STRUCT"), None)
        if options.format == "CSV" and nested is not None:
            raise invalid("Operation cannot be performed on a nested schema. Field: " + nested.name)

    def _written(
        self,
        job: Job,
        fields: list[Field],
        query: str,
        options: Options,
        folder: Path,
        sharded: bool,
    ) -> tuple[list[Path], int]:
        values = ", ".join(f"{_written_as(f, options)} AS {quoted(f.name)}" for f in fields)
        target = folder / "out"
        settings = [_copy_format(options)]
        if sharded:
            settings += [f"FILE_SIZE_BYTES {SHARD_BYTES}", "PER_THREAD_OUTPUT false"]
        rows = job.execute(
            f"COPY (SELECT {values} FROM ({query})) TO {literal(str(target))} "
            f"({', '.join(settings)})"
        ).fetchall()[0][0]
        paths = sorted(target.iterdir(), key=_shard_number) if sharded else [target]
        if options.compression == "GZIP" and options.format != "PARQUET":
            for path in paths:
                _gzip(path)
        return paths, rows


def row_group_rows(fields: list[Field], row_bytes: float | None = None) -> int:
    """Number of rows in a Parquet row group: the wider the rows, the fewer.

    `row_bytes`: their logical size; None estimates it from the columns' types.
    """
    if row_bytes is None:
        row_bytes = sum(map(_guessed_bytes, fields))
    vectors = int(ROW_GROUP_BYTES / max(row_bytes, 1)) // _VECTOR_ROWS
    return min(max(1, vectors) * _VECTOR_ROWS, _ROW_GROUP_ROWS)


def _guessed_bytes(field: Field) -> int:
    if field.repeated:
        return 16 * _guessed_bytes(field.element)
    if field.type == "STRUCT":
        return sum(map(_guessed_bytes, field.fields))
    return FIXED_BYTES.get(field.type, 32)


def _copy_format(options: Options) -> str:
    if options.format == "PARQUET":
        compression = "uncompressed" if options.compression == "NONE" else options.compression
        return f"FORMAT parquet, COMPRESSION {compression}, ROW_GROUP_SIZE {options.row_group}"
    if options.format == "CSV":
        header = str(options.header).lower()
        return f"FORMAT csv, HEADER {header}, DELIMITER {literal(options.delimiter)}"
    return "FORMAT json, ARRAY false"


def _written_as(field: Field, options: Options) -> str:
    """DuckDB expression for a column in the format's representation."""
    column = quoted(field.name)
    if options.format == "PARQUET":
        return f"CAST({column} AS VARCHAR)" if field.type == "JSON" else column
    return _text(field, column, options.format)


def _text(field: Field, value: str, format: str) -> str:
    # https://cloud.google.com/bigquery/docs/exporting-data: INT64 is a string in JSON, BYTES are
    # base64, times as GoogleSQL prints them.
    if field.repeated:
        element = _text(field.element, "x", format)
        return value if element == "x" else f"list_transform({value}, lambda x: {element})"
    if field.type == "STRUCT":
        parts = [
            f"{quoted(f.name)} := {_text(f, f'{value}.{quoted(f.name)}', format)}"
            for f in field.fields
        ]
        return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"
    if field.type == "BYTES":
        return f"to_base64({value})"
    if field.type == "TIMESTAMP":
        stamp = f"{value} AT TIME ZONE 'UTC'"
        return f"replace(CAST({stamp} AS VARCHAR), '+00', '') || ' UTC'"
    if field.type == "DATETIME" and format != "CSV":
        return f"replace(CAST({value} AS VARCHAR), ' ', 'T')"
    if field.type == "DATETIME":
        return f"replace(CAST({value} AS VARCHAR), ' ', 'T')"
    if field.type == "NUMERIC":
        text = f"CAST({value} AS VARCHAR)"
        return f"rtrim(rtrim({text}, '0'), '.')"
    if field.type == "INT64" and format == "NEWLINE_DELIMITED_JSON":
        return f"CAST({value} AS VARCHAR)"
    return value


def _shard_number(path: Path) -> int:
    return int(path.name.partition("_")[2].partition(".")[0])


def _gzip(path: Path) -> None:
    zipped = path.with_name(path.name + ".zipped")
    with path.open("rb") as source, gzip.open(zipped, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    zipped.replace(path)


def export_options(options: dict[str, Any]) -> tuple[str, Options, bool]:
    """(uri, options, overwrite) of EXPORT DATA; raises BigQueryError for other options."""
    known = {"uri", "format", "compression", "header", "field_delimiter", "overwrite"}
    unknown = set(options) - known
    if unknown:
        raise not_emulated(f"EXPORT DATA with the option {', '.join(sorted(unknown))}")
    for name in ("uri", "format"):
        if name not in options:
            raise BigQueryError("invalidQuery", f"Option '{name}' is required", "query")
    if "*" not in options["uri"]:
        message = "Option 'uri' value must be a wild card URI."
        raise BigQueryError("invalidQuery", message, "query")
    chosen = Options(
        options["format"],
        options.get("compression") or "NONE",
        bool(options.get("header", False)),
        options.get("field_delimiter") or ",",
    )
    return options["uri"], chosen, bool(options.get("overwrite"))
