"""Load jobs: load files from Cloud Storage, or from the request, into a table."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from .arrow_source import AvroSource, ParquetSource
from .catalog import TableRecord
from .csv_source import CsvSource
from .destination import Disposition, insert, prepare
from .errors import BigQueryError, invalid, not_emulated
from .files import Files
from .jobs import Job
from .json_source import JsonSource
from .locations import DEFAULT
from .locks import TableLocks
from .refs import TableRef
from .schema import Field, check_names, fields_from_api
from .sizes import Sizes
from .sql import of_duckdb

log = logging.getLogger(__name__)

_FORMATS = {
    "CSV": CsvSource,
    "NEWLINE_DELIMITED_JSON": JsonSource,
    "PARQUET": ParquetSource,
    "AVRO": AvroSource,
}
_MOST_ERRORS = 5

Source = CsvSource | JsonSource | ParquetSource | AvroSource


class LoadWork:
    """Runs one load job."""

    def __init__(self, files: Files, uploads: Path, locks: TableLocks, sizes: Sizes):
        self._files, self._uploads, self._locks, self._sizes = files, uploads, locks, sizes

    def __call__(self, job: Job) -> dict[str, Any]:
        configuration = job.configuration["load"]
        target = TableRef.from_api(configuration["destinationTable"])
        uris = self._files_of(job, configuration)
        paths = list(uris)
        kind = (configuration.get("sourceFormat") or "CSV").upper()
        if kind not in _FORMATS:
            raise not_emulated(f"load jobs of {kind}")
        source = _FORMATS[kind](paths, configuration)
        job.begin(self._locks, [target])
        try:
            record, rows, bad = self._load(job, configuration, target, source, uris)
        except (duckdb.InterruptException, duckdb.ConstraintException):
            raise
        except duckdb.Error as error:
            # Bad values are searched only after an error: good files are read once.
            log.info("Job %s: %s", job.id, error)
            job.cursor.execute("ROLLBACK")
            job.cursor.execute("BEGIN")
            record, rows, bad = self._load(job, configuration, target, source, uris, why=error)
        job.catalog.save(record.changed())
        statistics = {
            "inputFiles": str(len(paths)),
            "inputFileBytes": str(sum(path.stat().st_size for path in paths)),
            "outputRows": str(rows),
            "outputBytes": str(self._sizes.bytes(job.cursor, record)),
            "badRecords": str(bad),
        }
        return {"load": statistics}

    def _load(
        self,
        job: Job,
        configuration: dict[str, Any],
        target: TableRef,
        source: Source,
        uris: Mapping[Path, str],
        why: duckdb.Error | None = None,
    ) -> tuple[TableRecord, int, int]:
        fields = self._fields(job, configuration, target, source)
        disposition = Disposition.of(configuration, write="WRITE_APPEND")
        record = prepare(job.catalog, target, fields, disposition)
        bad = 0
        if isinstance(source, ParquetSource | AvroSource):
            if why:
                raise invalid(f"Error while reading data, error message: {_words(why)}")
            query = source.query(fields, job.cursor)
        elif why is None:
            query = source.query(fields, strict=True)
        else:
            most = int(configuration.get("maxBadRecords") or 0)
            query, bad = self._good_rows(job, source, fields, most, uris, why)
        rows = insert(job, record, fields, query, target.partition)
        return record, rows, bad

    def _fields(
        self, job: Job, configuration: dict[str, Any], target: TableRef, source: Source
    ) -> list[Field]:
        """The columns of the files."""
        schema = configuration.get("schema")
        record = job.catalog.find(target)
        self_describing = isinstance(source, ParquetSource | AvroSource)
        detect = configuration.get("autodetect") or self_describing
        if isinstance(source, CsvSource) and configuration.get("autodetect"):
            detected = source.detect()  # also detects a header
        else:
            detected = []
        if schema and schema.get("fields"):
            return fields_from_api(schema)
        if detect:
            found = detected or source.detect()
            if configuration.get("columnNameCharacterMap") == "STRICT":
                check_names(found)
            return _as_table(found, record, configuration)
        if record is not None and record.fields:
            return record.fields
        raise invalid("No schema specified on job or table.")

    def _files_of(self, job: Job, configuration: dict[str, Any]) -> dict[Path, str]:
        """The files to load, and the objects that they are; "" of a request's own."""
        uris = configuration.get("sourceUris")
        if uris:
            for uri in uris:
                self._files.check_source(uri, job.location or DEFAULT)
            return {path: uri for uri, path in self._files.matching(uris)}
        path = self._uploads / job.id
        job.on_commit(lambda: path.unlink(missing_ok=True))
        if not path.is_file():
            raise invalid("Load configuration must specify at least one source URI")
        return {path: ""}

    def _good_rows(
        self,
        job: Job,
        source: CsvSource | JsonSource,
        fields: list[Field],
        most: int,
        uris: Mapping[Path, str],
        why: duckdb.Error,
    ) -> tuple[str, int]:
        """(query for the good rows, number of bad rows); raises an error if too many are bad."""
        if isinstance(source, JsonSource):
            return source.query(fields, strict=False), self._check_json(
                job, source, fields, most, why
            )
        cursor = job.cursor
        for name in ("texts", "rejects", "rejects_scans"):
            cursor.execute(f"DROP TABLE IF EXISTS temp.{name}")
        job.execute(f"CREATE TEMP TABLE texts AS {source.texts(fields)}")
        split = job.execute(
            "SELECT DISTINCT line, error_message, file_path FROM temp.rejects "
            "JOIN temp.rejects_scans USING (scan_id, file_id) ORDER BY file_path, line"
        ).fetchall()
        wrong = job.execute(
            f"SELECT * FROM ({source.wrong(fields)}) AS w(field, text, row, file, problem) "
            "ORDER BY file, row"
        ).fetchall()
        types = {f.name: f.type for f in fields}

        def place(path: str) -> str:
            uri = uris[Path(path)]
            return f"; File: {uri}" if uri else ""

        problems = [f"line {line}: {message}{place(file)}" for line, message, file in split]
        problems += [
            f"{problem} Field: {name}; Value: {text}{place(file)}"
            if problem
            else f"Could not parse '{text}' as {types[name]} for field {name} "
            f"(row {row + source.skip}){place(file)}"
            for name, text, row, file, problem in wrong
        ]
        bad = len({(file, line) for line, _, file in split})
        bad += len({(file, row) for _, _, row, file, _ in wrong})
        if bad > most or not problems:
            raise _too_many("CSV", bad, problems or [str(why)])
        return source.values(fields), bad

    def _check_json(
        self,
        job: Job,
        source: JsonSource,
        fields: list[Field],
        most: int,
        why: duckdb.Error,
    ) -> int:
        if most:
            raise not_emulated("maxBadRecords of JSON files of which a record is bad")
        raise _too_many("JSON", 1, [_words(why)])


def _words(why: duckdb.Error) -> str:
    """The message of an error that a conversion of ours raised, or DuckDB's first line."""
    return of_duckdb(why).message if "bq:" in str(why) else str(why).splitlines()[0]


def _too_many(kind: str, bad: int, problems: list[str]) -> BigQueryError:
    prefix = "Error while reading data, error message: "
    error = BigQueryError(
        "invalid",
        f"{prefix}{kind} table encountered too many errors, giving up. Rows: {bad}; "
        f"errors: {len(problems)}. Please look into the errors[] collection for more details.",
    )
    details = [{"reason": "invalid", "message": prefix + p} for p in problems[:_MOST_ERRORS]]
    error.errors = [error.proto, *details]  # type: ignore[attr-defined]
    return error


def _as_table(
    detected: list[Field], record: TableRecord | None, configuration: dict[str, Any]
) -> list[Field]:
    """Detected columns, with the table's types if rows are appended to it."""
    if record is None or (configuration.get("writeDisposition") == "WRITE_TRUNCATE"):
        return detected
    own = {f.name.lower(): f for f in record.fields}
    result = []
    for field in detected:
        known = own.get(field.name.lower())
        fits = known is not None and (
            known.type == field.type or (known.type, field.type) in _DETECTED_FITS
        )
        result.append(
            known if known is not None and fits and known.repeated == field.repeated else field
        )
    return result


_DETECTED_FITS = {("FLOAT64", "INT64"), ("NUMERIC", "INT64"), ("NUMERIC", "FLOAT64")}
_DETECTED_FITS |= {("STRING", kind) for kind in ("INT64", "FLOAT64", "BOOL", "DATE", "TIMESTAMP")}
_DETECTED_FITS |= {("STRING", "TIME"), ("DATETIME", "TIMESTAMP"), ("TIMESTAMP", "DATE")}
