"""REST resource TableData: pages of rows, and streaming inserts."""

from __future__ import annotations

from typing import Any

from local_gcp.storage.call import Call

from .catalog import Catalog, TableRecord, etag
from .cells import rest_rows
from .database import Database, quoted, stream
from .errors import invalid
from .pages import position_of, token_of
from .partition_times import SUMMARY, SUMMARY_FIELDS, summary_sql
from .partitions import condition
from .refs import TableRef
from .resources import checked_project
from .schema import Field, arrow_schema, fields_from_api
from .streaming import Streaming

_PAGE_BYTES = 10 << 20
"""Approximate maximum size of a page of rows, as in BigQuery."""
_PAGE_ROWS = 100_000


class TableDataApi:
    """tabledata.list, and the pages of query results."""

    def __init__(self, database: Database, streaming: Streaming):
        self._database, self._streaming = database, streaming

    def list(self, call: Call) -> dict[str, Any]:
        """tabledata.list."""
        ref = _ref(call)
        options = {
            "maxResults": call.number("maxResults"),
            "startIndex": call.number("startIndex"),
            "pageToken": call.query.get("pageToken"),
            "formatOptions": {
                "useInt64Timestamp": call.flag("formatOptions.useInt64Timestamp"),
                "timestampOutputFormat": call.query.get("formatOptions.timestampOutputFormat"),
            },
        }
        selected = call.query.get("selectedFields")
        page = self.page(ref, None, options, selected.split(",") if selected else None)
        del page["schema"]
        return {"kind": "bigquery#tableDataList", "etag": etag(page.get("rows", [])), **page}

    def insert_all(self, call: Call) -> dict[str, Any]:
        """tabledata.insertAll."""
        return self._streaming.insert_all(_ref(call), dict(call.body))

    def page(
        self,
        ref: TableRef,
        schema: dict[str, Any] | None,
        options: dict[str, Any],
        selected: list[str] | None = None,
    ) -> dict[str, Any]:
        """`schema`, `totalRows`, `rows` and `pageToken` for a table's rows, in stored order."""
        with self._database.cursor() as cursor:
            cursor.execute("BEGIN")
            record = Catalog(cursor).get(ref)
            if record.view_query is not None:
                raise invalid(f"Cannot list a table of type VIEW: {record.ref}.")
            if ref.table.endswith(f"${SUMMARY}"):
                source, fields = f"({summary_sql(record)})", SUMMARY_FIELDS
            else:
                where = f" WHERE {condition(record, ref.partition)}" if ref.partition else ""
                source = record.sql + where
                fields = fields_from_api(schema) if schema else record.fields
            fields = _selected(fields, selected, record)
            row = cursor.execute(f"SELECT count(*) FROM {source}").fetchone()
            assert row
            total = row[0]
            token = position_of(options.get("pageToken"))
            start = token if token is not None else int(options.get("startIndex") or 0)
            size = _size(options.get("maxResults"))
            result: dict[str, Any] = {"schema": {"fields": [f.api for f in fields]}}
            result["totalRows"] = str(total)
            if size and start < total and fields:
                rows = self._rows(cursor, source, fields, start, size, options)
                result["rows"] = rows
                start += len(rows)
            if start < total:
                result["pageToken"] = token_of(start)
            return result

    def _rows(
        self,
        cursor: Any,
        source: str,
        fields: list[Field],
        start: int,
        size: int,
        options: dict[str, Any],
    ) -> list[dict]:
        columns = ", ".join(quoted(f.name) for f in fields)
        query = f"SELECT {columns} FROM {source} LIMIT {size} OFFSET {start}"
        rows: list[dict] = []
        used = 0
        timestamps = _timestamps(options.get("formatOptions") or {})
        with stream(cursor, query, 2048) as reader:
            for batch in reader:
                batch = batch.cast(arrow_schema(fields))
                used += batch.nbytes
                rows += rest_rows(fields, batch, timestamps)
                if used > _PAGE_BYTES:
                    break
        return rows


def _size(given: Any) -> int:
    return _PAGE_ROWS if given is None else min(int(given), _PAGE_ROWS)


def _timestamps(options: dict[str, Any]) -> str:
    wanted = options.get("timestampOutputFormat")
    if wanted and wanted != "TIMESTAMP_OUTPUT_FORMAT_UNSPECIFIED":
        if wanted not in ("FLOAT64", "INT64", "ISO8601_STRING"):
            raise invalid(f"Invalid value for timestampOutputFormat: {wanted}")
        return wanted
    return "INT64" if options.get("useInt64Timestamp") else "FLOAT64"


def _selected(fields: list[Field], names: list[str] | None, record: TableRecord) -> list[Field]:
    if names is None:
        return fields
    own = {f.name.lower() for f in fields}
    for name in names:
        if name.partition(".")[0].lower() not in own:
            raise invalid(f"Invalid field name {name}: {record.ref} has no such column.")
        if "." in name:
            raise invalid(f"local_gcp selects whole columns only, not {name}.")
    wanted = {name.lower() for name in names}
    return [f for f in fields if f.name.lower() in wanted]


def _ref(call: Call) -> TableRef:
    project = checked_project(call.params["project"])
    return TableRef(project, call.params["dataset"], call.params["table"])
