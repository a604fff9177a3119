"""REST resource Table: tables and views."""

from __future__ import annotations

import dataclasses
from typing import Any

from local_gcp.rest import check_unchanged
from local_gcp.storage.call import Call

from . import streaming_buffer
from .catalog import Catalog, TableRecord, etag
from .database import Database
from .dataset_api import check_etag, merged_labels
from .destination import checked_clustering, with_schema
from .encryption import replaced
from .errors import invalid, not_emulated
from .locks import TableLocks
from .pages import page_by_name
from .partition_times import SUMMARY, SUMMARY_FIELDS, summary_sql, times, touch, unknown
from .partitions import check_decorator, checked_partitioning, condition
from .refs import DatasetRef, TableRef
from .resources import checked_project, table_item, table_resource
from .schema import Field, fields_from_api, fields_to_api
from .sizes import Sizes
from .translation import Translation

_KEPT = (
    *("friendlyName", "description", "labels", "expirationTime", "requirePartitionFilter"),
    *("timePartitioning", "clustering", "schema", "view", "resourceTags"),
    "encryptionConfiguration",
)


class TableApi:
    """Endpoints; each runs in one transaction."""

    def __init__(
        self, database: Database, locks: TableLocks, sizes: Sizes, translation: Translation
    ):
        self._database, self._locks, self._sizes, self._translation = (
            database,
            locks,
            sizes,
            translation,
        )

    def list(self, call: Call) -> dict[str, Any]:
        """tables.list."""
        dataset = DatasetRef(checked_project(call.params["project"]), call.params["dataset"])
        with self._database.cursor() as cursor:
            catalog = Catalog(cursor)
            catalog.dataset(dataset)
            records = catalog.tables(dataset)
        items = [(record.ref.table, table_item(record)) for record in records]
        page, token = page_by_name(items, call.number("maxResults"), call.query.get("pageToken"))
        answer = {"kind": "bigquery#tableList", "etag": etag(page), "totalItems": len(items)}
        answer["tables"] = page
        return {**answer, "nextPageToken": token} if token else answer

    def insert(self, call: Call) -> dict[str, Any]:
        """tables.insert: an empty table, or a view."""
        body = dict(call.body)
        reference = body.get("tableReference") or {}
        ref = TableRef(
            checked_project(reference.get("projectId") or call.params["project"]),
            call.params["dataset"],
            reference.get("tableId") or "",
        )
        check_unchanged("datasetId", reference.get("datasetId"), ref.dataset)
        TableRef.parse(str(ref), ref.project)  # checks the names
        with self._locks.hold([ref]), self._database.transaction() as cursor:
            catalog = Catalog(cursor)
            record = catalog.create(ref, self._stored(catalog, body, ref))
            return self._resource(catalog, record)

    def get(self, call: Call) -> dict[str, Any]:
        """tables.get."""
        with self._database.cursor() as cursor:
            cursor.execute("BEGIN")
            catalog = Catalog(cursor)
            ref = _ref(call)
            record = dataclasses.replace(catalog.get(ref), ref=ref)
            if ref.table.endswith(f"${SUMMARY}"):
                return self._summary(catalog, record)
            if ref.partition:
                check_decorator(record, ref.partition)
                known = times(cursor, record).get(ref.partition, unknown(record))
                shown = {**record.resource, "lastModifiedTime": str(known.modified)}
                record = dataclasses.replace(record, resource=shown)
            return self._resource(catalog, record)

    def patch(self, call: Call) -> dict[str, Any]:
        """tables.patch: changes the given members."""
        return self._change(call, replace=False)

    def update(self, call: Call) -> dict[str, Any]:
        """tables.update: replaces all members that can change."""
        return self._change(call, replace=True)

    def delete(self, call: Call) -> None:
        """tables.delete: a table or view or, with a decorator, one partition's rows."""
        ref = _ref(call)
        with self._locks.hold([ref]), self._database.transaction() as cursor:
            catalog = Catalog(cursor)
            record = catalog.get(ref)
            if ref.partition:
                cursor.execute(f"DELETE FROM {record.sql} WHERE {condition(record, ref.partition)}")
                touch(cursor, record, [ref.partition])
                streaming_buffer.forget(cursor, record.relation)
                catalog.save(record.changed())
            else:
                catalog.drop(record)

    def _change(self, call: Call, replace: bool) -> dict[str, Any]:
        ref = _ref(call)
        with self._locks.hold([ref]), self._database.transaction() as cursor:
            catalog = Catalog(cursor)
            record = catalog.get(ref)
            check_etag(call, etag(record.resource))
            body = dict(call.body)
            reference = body.get("tableReference") or {}
            checked_project(reference.get("projectId") or ref.project)
            check_unchanged("datasetId", reference.get("datasetId"), ref.dataset)
            check_unchanged("tableId", reference.get("tableId"), ref.table)
            changes = {name: body.get(name) for name in _KEPT if replace or name in body}
            if not replace and "labels" in body:
                labels = merged_labels(record.resource.get("labels"), body["labels"])
                changes["labels"] = labels or None
            self._check_partitioning(record, changes)
            if "encryptionConfiguration" in changes:
                changes["encryptionConfiguration"] = self._key(catalog, record, body)
            schema = changes.pop("schema", None)
            if record.view_query is None and changes.get("view"):
                raise not_emulated("a change of a table into a view")
            if record.view_query is not None:
                changes |= self._view(
                    catalog, changes.pop("view", None) or record.resource["view"], ref, schema
                )
            elif schema:
                fields = checked_schema(record, fields_from_api(schema))
                record = with_schema(catalog, record, fields)
            if changes.get("clustering"):
                changes["clustering"] = checked_clustering(changes["clustering"], record.fields)
            record = record.changed(**changes)
            catalog.save(record)
            return self._resource(catalog, record)

    def _key(self, catalog: Catalog, record: TableRecord, body: dict[str, Any]) -> Any:
        old = record.resource.get("encryptionConfiguration")
        if "encryptionConfiguration" not in body:  # a full update without it keeps it
            return old
        location = catalog.dataset(record.ref.dataset_ref)["location"]
        return replaced(old, body["encryptionConfiguration"], location)

    def _check_partitioning(self, record: TableRecord, changes: dict[str, Any]) -> None:
        if "timePartitioning" not in changes:
            return
        new, old = changes["timePartitioning"], record.partitioning
        if new is None and old is None:
            return
        if new is None:  # a full update without it keeps it
            changes["timePartitioning"] = old
            return
        new = checked_partitioning(new, record.fields)
        shape = [{k: (p or {}).get(k) for k in ("type", "field")} for p in (new, old)]
        if shape[0] != shape[1]:
            raise invalid(
                f"Cannot convert {'partitioned' if old else 'non partitioned'} table to another "
                f"partitioning: {record.ref}."
            )
        changes["timePartitioning"] = new

    def _stored(self, catalog: Catalog, body: dict[str, Any], ref: TableRef) -> dict[str, Any]:
        resource = {name: body[name] for name in _KEPT if body.get(name) is not None}
        if "view" in resource:
            if resource.pop("encryptionConfiguration", None):
                raise not_emulated("views with encryptionConfiguration")
            return {
                **resource,
                **self._view(catalog, resource["view"], ref, resource.get("schema")),
            }
        fields = fields_from_api(resource.get("schema", {}))
        resource["schema"] = fields_to_api(fields)
        if "timePartitioning" in resource:
            resource["timePartitioning"] = checked_partitioning(
                resource["timePartitioning"], fields
            )
            inner = resource["timePartitioning"].get("requirePartitionFilter")
            resource.setdefault("requirePartitionFilter", inner) if inner else None
        if "clustering" in resource:
            resource["clustering"] = checked_clustering(resource["clustering"], fields)
        return resource

    def _view(
        self, catalog: Catalog, view: dict[str, Any], ref: TableRef, schema: dict | None = None
    ) -> dict[str, Any]:
        if view.get("useLegacySql", True):
            raise not_emulated(
                "views in legacy SQL (useLegacySql is true unless it is set to false)"
            )
        query = view.get("query") or ""
        here = Catalog(catalog.cursor, catalog.dataset(ref.dataset_ref)["location"])
        fields = self._translation.view_fields(here, query)
        words = {f.name: f.description for f in fields_from_api(schema or {})}
        fields = [dataclasses.replace(f, description=words.get(f.name)) for f in fields]
        return {
            "view": {"query": query, "useLegacySql": False},
            "schema": fields_to_api(fields),
        }

    def _summary(self, catalog: Catalog, record: TableRecord) -> dict[str, Any]:
        query = summary_sql(record)
        rows = catalog.cursor.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0]
        kept = ("type", "creationTime", "lastModifiedTime")
        resource = {name: record.resource[name] for name in kept}
        resource["schema"] = fields_to_api(SUMMARY_FIELDS)
        shown = dataclasses.replace(record, resource=resource)
        return table_resource(shown, rows, 0, catalog.location_of(record.ref))

    def _resource(self, catalog: Catalog, record: TableRecord) -> dict[str, Any]:
        parts = self._sizes.partitions(catalog.cursor, record)
        if record.ref.partition:
            parts = [part for part in parts if part.id == record.ref.partition]
        count = len(parts) if record.partitioning else None
        rows, size = sum(p.rows for p in parts), sum(p.bytes for p in parts)
        buffer = None if record.ref.partition else streaming_buffer.resource(catalog.cursor, record)
        if buffer:  # its rows are not counted yet
            rows -= int(buffer["estimatedRows"])
            size -= int(buffer["estimatedBytes"])
        shown = table_resource(record, rows, size, catalog.location_of(record.ref), count)
        return {**shown, "streamingBuffer": buffer} if buffer else shown


def checked_schema(record: TableRecord, fields: list[Field]) -> list[Field]:
    """The new columns of a table; raises BigQueryError for changes that BigQuery rejects.

    Columns may be added (not REQUIRED) or relaxed, and descriptions may change.
    """
    have = {f.name.lower(): f for f in record.fields}
    table = f"Provided Schema does not match Table {record.ref}."
    given = {f.name.lower() for f in fields}
    for name, own in have.items():
        if name not in given:
            raise invalid(f"{table} Field {own.name} is missing in new schema")
    for field in fields:
        own = have.get(field.name.lower())
        if own is None and field.mode == "REQUIRED":
            raise invalid(
                f"{table} Cannot add required fields to an existing schema. (field: {field.name})"
            )
        if own is None:
            continue
        if own.type != field.type or own.repeated != field.repeated:
            raise invalid(
                f"{table} Field {field.name} has changed type from {own.data_type} to "
                f"{field.data_type}"
            )
        if own.parameterized_type != field.parameterized_type or own.rounding != field.rounding:
            raise not_emulated(
                f"a change of a column's parameters ({field.name}: {own.parameterized_type} to "
                f"{field.parameterized_type})"
            )
        if own.mode == "NULLABLE" and field.mode == "REQUIRED":
            raise invalid(f"{table} Field {field.name} has changed mode from NULLABLE to REQUIRED")
        if own.fields and [f.name for f in own.fields] != [f.name for f in field.fields]:
            raise not_emulated("changes of the fields inside a STRUCT column")
    return fields


def _ref(call: Call) -> TableRef:
    project = checked_project(call.params["project"])
    return TableRef(project, call.params["dataset"], call.params["table"])
