"""CREATE, ALTER and DROP of tables, views and schemas."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime
from typing import Any

from . import encryption, streaming_buffer
from .catalog import Catalog, TableRecord, now_ms
from .database import quoted
from .destination import Disposition, insert, prepare, with_schema
from .errors import already_exists, invalid, invalid_query, not_emulated, not_found
from .jobs import Job
from .locations import same
from .partitions import checked_partitioning
from .refs import DatasetRef, TableRef
from .resources import new_dataset
from .schema import Field, fields_to_api
from .sql.translated import (
    AddColumn,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateView,
    Drop,
    DropColumn,
    RenameColumn,
    RenameTable,
    SetOptions,
    Translated,
)

Query = dict[str, Any]


def further_targets(translated: Translated) -> list[TableRef]:
    """Tables that a statement changes beside its target."""
    if isinstance(translated.details, AlterTable):
        return [a.new for a in translated.details.actions if isinstance(a, RenameTable)]
    return []


def create_table(job: Job, translated: Translated, configuration: Query) -> Query:
    """CREATE TABLE, with or without AS SELECT."""
    details = translated.details
    assert isinstance(details, CreateTable)
    catalog, ref = job.catalog, details.ref
    catalog.dataset(ref.dataset_ref)
    old = catalog.find(ref)
    if old is not None and details.if_not_exists:
        return _done("SKIP", ref)
    if old is not None and not details.replace:
        raise already_exists("Table", ref)
    if old is not None:
        catalog.drop(old)
    refuse_key(configuration)
    fields = list(details.fields)
    options = table_options(details.options)
    partitioning = None
    if details.partitioning is not None:
        partitioning = {"type": details.partitioning.type, "field": details.partitioning.column}
        partitioning["expirationMs"] = options.pop("partitionExpirationMs", None)
        partitioning = checked_partitioning(partitioning, fields)
    clustering = {"fields": list(details.clustering)} if details.clustering else None
    disposition = Disposition(
        "WRITE_EMPTY", partitioning=partitioning, clustering=clustering, properties=options
    )
    record = prepare(catalog, ref, fields, disposition)
    found = _done("CREATE" if old is None else "REPLACE", ref)
    if translated.sql is not None:
        insert(job, record, fields, translated.sql, None)
        catalog.save(record.changed())
    return {**found, "schema": fields_to_api(fields)}


def create_view(job: Job, translated: Translated, configuration: Query) -> Query:
    """CREATE VIEW."""
    details = translated.details
    assert isinstance(details, CreateView)
    catalog, ref = job.catalog, details.ref
    old = catalog.find(ref)
    if old is not None and details.if_not_exists:
        return _done("SKIP", ref)
    if old is not None and (not details.replace or old.view_query is None):
        raise already_exists("Table", ref)
    if old is not None:
        catalog.drop(old)
    if "kms_key_name" in details.options:
        raise not_emulated("a view with the option kms_key_name")
    resource = {
        **table_options(details.options),
        "view": {"query": details.query, "useLegacySql": False},
        "schema": fields_to_api(details.fields),
    }
    catalog.create(ref, resource)
    return _done("CREATE" if old is None else "REPLACE", ref)


def create_schema(job: Job, translated: Translated, configuration: Query) -> Query:
    """CREATE SCHEMA."""
    details = translated.details
    assert isinstance(details, CreateSchema)
    target = {"ddlTargetDataset": details.ref.api}
    if job.catalog.everywhere.find_dataset(details.ref) is not None and details.if_not_exists:
        return {**target, "ddlOperationPerformed": "SKIP"}
    names = {
        "description": "description",
        "friendly_name": "friendlyName",
        "location": "location",
        "labels": "labels",
        "default_table_expiration_days": "defaultTableExpirationMs",
        "default_kms_key_name": "defaultEncryptionConfiguration",
    }
    body = {"location": job.location, **_named(details.options, names, "CREATE SCHEMA")}
    if not same(body["location"], job.location or body["location"]):
        raise invalid_query(
            f"The location {body['location']} of the dataset {details.ref} is not the query's, "
            f"{job.location}."
        )
    stored = {"datasetId": details.ref.dataset, **new_dataset(body)}
    job.catalog.create_dataset(details.ref, stored)
    return {**target, "ddlOperationPerformed": "CREATE"}


def drop_table(job: Job, translated: Translated, configuration: Query) -> Query:
    """DROP TABLE and DROP VIEW."""
    details = translated.details
    assert isinstance(details, Drop)
    assert isinstance(details.ref, TableRef)
    old = job.catalog.find(details.ref)
    if old is None:
        if details.if_exists:
            return _done("SKIP", details.ref)
        job.catalog.get(details.ref)  # raises the error for what is missing
        raise AssertionError
    view = translated.kind == "DROP_VIEW"
    if view != (old.view_query is not None):
        is_a, should = ("view", "DROP VIEW") if not view else ("table", "DROP TABLE")
        raise invalid(f"Cannot drop {old.ref}: it is a {is_a}; use {should}.")
    job.catalog.drop(old)
    return _done("DROP", details.ref)


def drop_schema(job: Job, translated: Translated, configuration: Query) -> Query:
    """DROP SCHEMA."""
    details = translated.details
    assert isinstance(details, Drop)
    assert isinstance(details.ref, DatasetRef)
    target = {"ddlTargetDataset": details.ref.api}
    if job.catalog.find_dataset(details.ref) is None and details.if_exists:
        return {**target, "ddlOperationPerformed": "SKIP"}
    job.catalog.delete_dataset(details.ref, details.cascade)
    return {**target, "ddlOperationPerformed": "DROP"}


def alter_table(job: Job, translated: Translated, configuration: Query) -> Query:
    """ALTER TABLE, action by action."""
    details = translated.details
    assert isinstance(details, AlterTable)
    record = job.catalog.find(details.ref)
    if record is None:
        if details.if_exists:
            return _done("SKIP", details.ref)
        record = job.catalog.get(details.ref)
    for action in details.actions:
        record = _ACTIONS[type(action)](job.catalog, record, action)
    job.catalog.save(record.changed())
    return _done("ALTER", record.ref)


def _add_column(catalog: Catalog, record: TableRecord, action: AddColumn) -> TableRecord:
    if _find(record, action.field.name) is not None:
        if action.if_not_exists:
            return record
        raise invalid(f"Column already exists: {action.field.name}")
    if action.field.mode == "REQUIRED":
        raise invalid(
            f"Cannot add required fields to an existing schema. (field: {action.field.name})"
        )
    return with_schema(catalog, record, [*record.fields, action.field])


def _drop_column(catalog: Catalog, record: TableRecord, action: DropColumn) -> TableRecord:
    field = _find(record, action.name)
    if field is None:
        if action.if_exists:
            return record
        raise not_found("Column", action.name)
    _refuse_partitioning(record, field)
    if len(record.fields) == 1:
        raise invalid(f"Cannot drop the only column of {record.ref}.")
    catalog.cursor.execute(f"ALTER TABLE {record.sql} DROP COLUMN {quoted(field.name)}")
    streaming_buffer.forget(catalog.cursor, record.relation)
    return record.with_fields([f for f in record.fields if f is not field and f != field])


def _rename_column(catalog: Catalog, record: TableRecord, action: RenameColumn) -> TableRecord:
    field = _find(record, action.old)
    if field is None:
        raise not_found("Column", action.old)
    _refuse_partitioning(record, field)
    if _find(record, action.new) is not None and action.new.lower() != action.old.lower():
        raise invalid(f"Column already exists: {action.new}")
    catalog.cursor.execute(
        f"ALTER TABLE {record.sql} RENAME COLUMN {quoted(field.name)} TO {quoted(action.new)}"
    )
    streaming_buffer.forget(catalog.cursor, record.relation)
    renamed = dataclasses.replace(field, name=action.new)
    return record.with_fields([renamed if f == field else f for f in record.fields])


def _rename_table(catalog: Catalog, record: TableRecord, action: RenameTable) -> TableRecord:
    if catalog.find(action.new) is not None:
        raise already_exists("Table", action.new)
    catalog.rename(record.ref, action.new)
    return dataclasses.replace(record, ref=action.new)


def _set_options(catalog: Catalog, record: TableRecord, action: SetOptions) -> TableRecord:
    changes = table_options(action.options)
    expiration = changes.pop("partitionExpirationMs", None)
    if "partition_expiration_days" in action.options:
        if record.partitioning is None:
            raise invalid("partition_expiration_days is only for partitioned tables.")
        partitioning = {**record.partitioning, "expirationMs": expiration}
        changes["timePartitioning"] = {k: v for k, v in partitioning.items() if v is not None}
    if "encryptionConfiguration" in changes:
        location = catalog.dataset(record.ref.dataset_ref)["location"]
        old = record.resource.get("encryptionConfiguration")
        new = encryption.replaced(old, changes["encryptionConfiguration"], location)
        changes["encryptionConfiguration"] = new
    return record.changed(**changes)


_ACTIONS: dict[type, Callable[..., TableRecord]] = {
    AddColumn: _add_column,
    DropColumn: _drop_column,
    RenameColumn: _rename_column,
    RenameTable: _rename_table,
    SetOptions: _set_options,
}


def table_options(options: dict[str, Any]) -> dict[str, Any]:
    """OPTIONS(...) of a table or view as members of REST Table."""
    names = {
        "description": "description",
        "friendly_name": "friendlyName",
        "labels": "labels",
        "expiration_timestamp": "expirationTime",
        "require_partition_filter": "requirePartitionFilter",
        "partition_expiration_days": "partitionExpirationMs",
        "kms_key_name": "encryptionConfiguration",
    }
    return _named(options, names, "a table")


def model_options(options: dict[str, Any]) -> dict[str, Any]:
    """OPTIONS(...) of ALTER MODEL as members of REST Model."""
    names = {
        "description": "description",
        "labels": "labels",
        "expiration_timestamp": "expirationTime",
    }
    return _named(options, names, "ALTER MODEL")


def refuse_key(configuration: Query) -> None:
    """Raise BigQueryError for a job's key if a statement creates a table: OPTIONS has its key."""
    if configuration.get("destinationEncryptionConfiguration"):
        raise not_emulated(
            "destinationEncryptionConfiguration for what a statement creates; "
            "use OPTIONS(kms_key_name=...)"
        )


def _named(options: dict[str, Any], names: dict[str, str], what: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in options.items():
        if name not in names:
            raise not_emulated(f"{what} with the option {name}")
        if name == "labels" and value is not None:
            value = {pair["key"]: pair["value"] for pair in map(_pair, value)}
        elif name.endswith("kms_key_name") and value is not None:
            value = {"kmsKeyName": value}
        elif name.endswith("_days") and value is not None:
            value = str(int(float(value) * 24 * 3600 * 1000))
        elif isinstance(value, datetime):
            value = str(int(value.timestamp() * 1000))
            if int(value) <= now_ms():
                raise invalid_query(f"{name} must be in the future")
        result[names[name]] = value
    return result


def _pair(item: Any) -> dict[str, Any]:
    """A label from a STRUCT of two values with any field names."""
    key, value = item.values() if isinstance(item, dict) else item
    return {"key": key, "value": value}


def _done(operation: str, ref: TableRef) -> Query:
    return {"ddlOperationPerformed": operation, "ddlTargetTable": ref.api}


def _find(record: TableRecord, name: str) -> Field | None:
    return next((f for f in record.fields if f.name.lower() == name.lower()), None)


def _refuse_partitioning(record: TableRecord, field: Field) -> None:
    used = [(record.partitioning or {}).get("field") or ""]
    used += record.resource.get("clustering", {}).get("fields", [])
    if field.name.lower() in {name.lower() for name in used}:
        raise invalid(f"Column {field.name} partitions or clusters {record.ref}.")
