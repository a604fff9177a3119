"""Streamed rows (tabledata.insertAll): checks each row, and deduplicates by insertId.

https://cloud.google.com/bigquery/docs/streaming-data-into-bigquery
"""

from __future__ import annotations

import base64
import binascii
import datetime
import json
import threading
import time
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from . import streaming_buffer
from .catalog import TableRecord
from .database import Database, lend, quoted
from .destination import insert
from .errors import BigQueryError, invalid
from .fitting import fitted_value
from .jobs import Job
from .locks import TableLocks
from .refs import TableRef
from .schema import Field, arrow_schema

_REMEMBERED_SECONDS = 60
"""Time for which rows are deduplicated by insertId: BigQuery's minimum."""
_MOST_ROWS = 50_000


class Streaming:
    """Adds streamed rows to tables."""

    def __init__(self, database: Database, locks: TableLocks):
        self._database, self._locks = database, locks
        self._seen: dict[TableRef, dict[str, float]] = {}
        self._guard = threading.Lock()

    def insert_all(self, ref: TableRef, body: dict[str, Any]) -> dict[str, Any]:
        """Run a TableDataInsertAllRequest; `insertErrors` of the response name rows and fields."""
        rows = body.get("rows") or []
        if not rows:
            raise invalid("No rows present in the request.")
        if len(rows) > _MOST_ROWS:
            raise invalid(f"At most {_MOST_ROWS} rows are allowed in one request.")
        skip, ignore = bool(body.get("skipInvalidRows")), bool(body.get("ignoreUnknownValues"))
        with self._locks.hold([ref]), self._database.transaction() as cursor:
            job = Job({"jobReference": {"jobId": "insertAll"}})
            job.cursor = cursor
            record = job.catalog.get(ref)
            if record.view_query is not None:
                raise invalid(f"Cannot add rows to a table of type VIEW: {record.ref}.")
            fields = record.fields
            good: list[tuple[dict[str, Any], frozenset[str]]] = []
            errors: dict[int, dict[str, Any]] = {}
            known = self._recent(ref)
            ids: list[str] = []
            for index, row in enumerate(rows):
                try:
                    values = _record(row.get("json") or {}, fields, ignore, "")
                except _RowError as problem:
                    errors[index] = problem.proto
                    continue
                name = row.get("insertId")
                if name is None or (name not in known and name not in ids):
                    good.append((values, _left_to_defaults(row.get("json") or {}, fields)))
                    ids += [name] if name is not None else []
            if errors and not skip:
                stopped = {"reason": "stopped", "location": "", "debugInfo": "", "message": ""}
                errors = {i: errors.get(i, stopped) for i in range(len(rows))}
                good, ids = [], []
            for left in dict.fromkeys(left for _, left in good):
                _add(job, record, [v for v, own in good if own == left], left, ref.partition)
        with self._guard:
            now = time.monotonic()
            self._seen.setdefault(ref.whole, {}).update(dict.fromkeys(ids, now))
        answer: dict[str, Any] = {"kind": "bigquery#tableDataInsertAllResponse"}
        if errors:
            answer["insertErrors"] = [
                {"index": index, "errors": [proto]} for index, proto in sorted(errors.items())
            ]
        return answer

    def _recent(self, ref: TableRef) -> set[str]:
        since = time.monotonic() - _REMEMBERED_SECONDS
        with self._guard:
            kept = {n: t for n, t in self._seen.get(ref.whole, {}).items() if t > since}
            self._seen[ref.whole] = kept
            return set(kept)


def _left_to_defaults(row: dict[str, Any], fields: list[Field]) -> frozenset[str]:
    """Names of the columns with a default that a row does not have; null is a value."""
    given = {name.lower() for name in row}
    return frozenset(f.name for f in fields if f.default and f.name.lower() not in given)


def _add(
    job: Job,
    record: TableRecord,
    rows: list[dict[str, Any]],
    left: frozenset[str],
    decorator: str | None,
) -> None:
    """`left`: columns that get their defaults."""
    fields = [f for f in record.fields if f.name not in left]
    table = pa.Table.from_pylist(rows, arrow_schema(fields))
    # A row may have no column at all, and all defaults.
    table = table if fields else pa.table({"row": range(len(rows))})
    lend(job.cursor, "streamed_rows", table)
    columns = ", ".join(quoted(f.name) for f in fields) or "row"
    with streaming_buffer.noting(job.cursor, record):
        query = f"SELECT {columns} FROM streamed_rows"
        insert(job, record, fields, query, decorator)
    job.catalog.save(record.changed())


class _RowError(Exception):
    """An error in a row."""

    def __init__(self, location: str, message: str):
        super().__init__(message)
        self.proto = {
            "reason": "invalid",
            "location": location,
            "debugInfo": "",
            "message": message,
        }


def _record(
    row: dict[str, Any], fields: list[Field] | tuple[Field, ...], ignore: bool, path: str
) -> dict[str, Any]:
    given = {name.lower(): (name, value) for name, value in row.items()}
    result: dict[str, Any] = {}
    for field in fields:
        where = f"{path}{field.name}"
        absent = field.name.lower() not in given
        _, value = given.pop(field.name.lower(), (None, None))
        has_default = absent and field.default is not None
        if value is None and field.mode == "REQUIRED" and not has_default:
            raise _RowError(where, f"Missing required field: {where}.")
        result[field.name] = _value(value, field, ignore, where)
    if given and not ignore:
        name = next(iter(given.values()))[0]
        raise _RowError(f"{path}{name}", f"no such field: {path}{name}.")
    return result


def _value(value: Any, field: Field, ignore: bool, where: str) -> Any:
    if field.repeated:
        if value is None:
            return []
        if not isinstance(value, list):
            raise _RowError(where, "Array specified for non-repeated field.")
        return [_value(item, field.element, ignore, where) for item in value]
    if value is None:
        return None
    if isinstance(value, list):
        raise _RowError(where, "Array specified for non-repeated field.")
    if field.type == "STRUCT":
        if not isinstance(value, dict):
            raise _RowError(where, "This field is a record.")
        return _record(value, field.fields, ignore, f"{where}.")
    if isinstance(value, dict) and field.type != "JSON":
        raise _RowError(where, f"This field: {field.name} is not a record.")
    try:
        return fitted_value(field, _READERS[field.type](value))
    except BigQueryError as error:
        raise _RowError(where, error.message) from None
    except (ValueError, TypeError, InvalidOperation, binascii.Error, OverflowError):
        kind = _WORDS.get(field.type, field.type.lower())
        message = f"Cannot convert value to {kind} (bad value): {value}"
        raise _RowError(where, message) from None


def _integer(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


def _float(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError
    return float(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "false": False}
    return known[value.lower()] if str(value).lower() in known else _no(value)


def _no(value: Any) -> Any:
    raise ValueError


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _timestamp(value: Any) -> datetime.datetime:
    if isinstance(value, int | float) and not isinstance(value, bool):
        micros = round(Decimal(repr(value)) * 1_000_000)
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        return epoch + datetime.timedelta(microseconds=micros)
    try:
        return _timestamp(float(value))
    except ValueError:
        pass
    moment = datetime.datetime.fromisoformat(value.replace(" UTC", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def _datetime(value: Any) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(value)
    return moment.replace(tzinfo=None) if moment.tzinfo in (None, datetime.UTC) else _no(value)


def _json(value: Any) -> str:
    if isinstance(value, str):
        json.loads(value)
        return value
    return json.dumps(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "INT64": _integer,
    "FLOAT64": _float,
    "NUMERIC": lambda value: Decimal(str(value)).quantize(Decimal("1e-9"), ROUND_HALF_UP),
    "BOOL": _boolean,
    "STRING": _text,
    "BYTES": lambda value: base64.b64decode(value, validate=True),
    "DATE": lambda value: datetime.date.fromisoformat(value),
    "TIME": lambda value: datetime.time.fromisoformat(value),
    "DATETIME": _datetime,
    "TIMESTAMP": _timestamp,
    "JSON": _json,
}
_WORDS = {"INT64": "integer", "FLOAT64": "floating point number", "BOOL": "boolean"}
