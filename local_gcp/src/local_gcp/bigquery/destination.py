"""Writes rows to a table as a job's configuration says: create, append, replace, one partition."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import encryption, partitions, streaming_buffer
from .catalog import ANONYMOUS, PARTITION_TIME, PLACEHOLDER, Catalog, TableRecord, column_definition
from .database import literal, quoted
from .errors import BigQueryError, already_exists, invalid, not_emulated, not_found
from .fitting import fitted_sql, has_parameters
from .jobs import Job
from .partition_times import appending, touch
from .refs import TableRef
from .schema import Field, fields_to_api
from .sql import default_sql

_DISPOSITIONS = ("WRITE_TRUNCATE", "WRITE_TRUNCATE_DATA", "WRITE_APPEND", "WRITE_EMPTY")


@dataclasses.dataclass(frozen=True)
class Disposition:
    """The destination settings of a load, query or copy job."""

    write: str
    create: str = "CREATE_IF_NEEDED"
    partitioning: dict[str, Any] | None = None
    clustering: dict[str, Any] | None = None
    updates: frozenset[str] = frozenset()
    """Entries of schemaUpdateOptions."""
    key: dict[str, Any] | None = None
    """REST EncryptionConfiguration."""
    properties: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Properties of a new table: description, labels, friendlyName, expirationTime."""

    @classmethod
    def of(cls, configuration: dict[str, Any], write: str) -> Disposition:
        """Read a JobConfigurationLoad, -Query or -TableCopy; `write` is that kind's default."""
        found = cls(
            configuration.get("writeDisposition") or write,
            configuration.get("createDisposition") or "CREATE_IF_NEEDED",
            configuration.get("timePartitioning"),
            configuration.get("clustering"),
            frozenset(configuration.get("schemaUpdateOptions", ())),
            configuration.get("destinationEncryptionConfiguration"),
            dict(configuration.get("destinationTableProperties", {})),
        )
        if found.write not in _DISPOSITIONS:
            raise invalid(f"Invalid value for writeDisposition: {found.write}")
        if found.create not in ("CREATE_IF_NEEDED", "CREATE_NEVER"):
            raise invalid(f"Invalid value for createDisposition: {found.create}")
        unknown = found.updates - {"ALLOW_FIELD_ADDITION", "ALLOW_FIELD_RELAXATION"}
        if unknown:
            raise invalid(f"Invalid value for schemaUpdateOptions: {', '.join(sorted(unknown))}")
        return found


def prepare(
    catalog: Catalog, target: TableRef, fields: list[Field], disposition: Disposition
) -> TableRecord:
    """Prepare the table for rows with columns `fields`: create, empty or widen it.

    Raises BigQueryError if disposition or schema forbid it; WRITE_EMPTY requires a table
    without rows.
    """
    record = catalog.find(target)
    decorator = target.partition
    if record is None:
        if disposition.create == "CREATE_NEVER":
            raise not_found("Table", target, catalog.location)
        record = catalog.create(target, _new_resource(fields, disposition, decorator))
        if decorator:
            partitions.check_decorator(record, decorator)
        return record
    if record.view_query is not None:
        raise invalid(f"{record.ref} is not allowed for this operation because it is a VIEW.")
    if decorator:
        partitions.check_decorator(record, decorator)
    _check_partitioning(record, disposition)
    record = _with_key(catalog, record, disposition, decorator)
    if disposition.write == "WRITE_EMPTY" and _has_rows(catalog, record, decorator):
        raise already_exists("Table", target)
    if disposition.write == "WRITE_TRUNCATE" and not decorator:
        if record.partitioning and record.partitioning.get("field"):
            partitions.checked_partitioning(record.partitioning, fields)
        return catalog.emptied(record, [_with_words(f, record) for f in fields])
    if disposition.write == "WRITE_TRUNCATE_DATA" and not decorator:
        record = catalog.emptied(record, record.fields)
    elif disposition.write.startswith("WRITE_TRUNCATE"):
        assert decorator
        condition = partitions.condition(record, decorator)
        catalog.cursor.execute(f"DELETE FROM {record.sql} WHERE {condition}")
        touch(catalog.cursor, record, [decorator])
        streaming_buffer.forget(catalog.cursor, record.relation)
    return _widened(catalog, record, fields, disposition.updates)


def insert(
    job: Job, record: TableRecord, fields: list[Field], query: str, decorator: str | None
) -> int:
    """Append the rows of `query` (DuckDB; its columns are `fields`, in order) to the table.

    Returns their number. With a decorator, raises BigQueryError if a row is in another partition.
    """
    columns = [quoted(f.name) for f in fields]
    own = {f.name.lower(): f.duckdb for f in record.fields}
    types = [own.get(f.name.lower(), f.duckdb) for f in fields]
    values = [f"CAST(s.{c} AS {t})" for c, t in zip(columns, types, strict=True)]
    stored = {f.name.lower(): f for f in record.fields}
    values = [
        fitted_sql(stored.get(f.name.lower(), f), v) for v, f in zip(values, fields, strict=True)
    ]
    values = [
        f"coalesce({v}, [])" if f.repeated else v for v, f in zip(values, fields, strict=True)
    ]
    names = list(columns)
    given = {f.name.lower() for f in fields}
    for left in record.fields:
        if left.default and left.name.lower() not in given:
            names.append(quoted(left.name))
            values.append(default_sql(left, record.ref.project))
    source = f"({query}) AS s({', '.join(columns)})" if columns else f"({query}) AS s"
    if record.by_ingestion_time:
        begin, _ = partitions.bounds(record, decorator or partitions.current(record))
        names.append(quoted(PARTITION_TIME))
        values.append(f"CAST({literal(begin)} AS TIMESTAMPTZ)")
    if not names:
        return 0
    with appending(job.cursor, record) as filled:
        ((rows,),) = job.execute(
            f"INSERT INTO {record.sql} ({', '.join(names)}) "
            f"SELECT {', '.join(values)} FROM {source}"
        ).fetchall()
    if decorator and filled - {decorator}:
        raise BigQueryError(
            "invalid",
            f"Some rows belong to different partitions rather than destination partition "
            f"{decorator}",
        )
    return rows


def write_query(
    job: Job, target: TableRef, fields: list[Field], query: str, disposition: Disposition
) -> tuple[TableRecord, int]:
    """Prepare the table and insert; returns it and the number of rows written."""
    record = prepare(job.catalog, target, fields, disposition)
    rows = insert(job, record, fields, query, target.partition)
    record = record.changed()
    job.catalog.save(record)
    return record, rows


def _new_resource(
    fields: list[Field], disposition: Disposition, decorator: str | None
) -> dict[str, Any]:
    resource: dict[str, Any] = {**disposition.properties, "schema": fields_to_api(fields)}
    partitioning = disposition.partitioning
    if partitioning is None and decorator:
        partitioning = {"type": "DAY"}
    if partitioning is not None:
        resource["timePartitioning"] = partitions.checked_partitioning(partitioning, fields)
    if disposition.clustering:
        resource["clustering"] = checked_clustering(disposition.clustering, fields)
    if disposition.key is not None:
        resource["encryptionConfiguration"] = disposition.key
    return resource


def _with_key(
    catalog: Catalog, record: TableRecord, disposition: Disposition, decorator: str | None
) -> TableRecord:
    """The table with the job's key; a different key requires that all rows are replaced."""
    location = catalog.location_of(record.ref)
    assert location
    wanted = encryption.checked(disposition.key, location)
    if wanted in (None, record.resource.get("encryptionConfiguration")):
        return record
    if disposition.write != "WRITE_TRUNCATE" or decorator:
        raise encryption.mismatch()
    return record.changed(encryptionConfiguration=wanted)


def checked_clustering(resource: dict[str, Any], fields: list[Field]) -> dict[str, Any]:
    """REST Clustering; raises BigQueryError if it names a column that does not exist."""
    names = {f.name.lower() for f in fields}
    columns = resource.get("fields", [])
    if len(columns) > 4:
        raise invalid("Too many clustering fields: at most 4 are allowed.")
    for column in columns:
        if column.lower() not in names:
            raise invalid(
                f"The field specified for clustering cannot be found in the schema: {column}"
            )
    return {"fields": list(columns)}


def _check_partitioning(record: TableRecord, disposition: Disposition) -> None:
    wanted = disposition.partitioning
    if wanted is None:
        return
    have = record.partitioning
    if have is None or (wanted.get("field") or "").lower() != (have.get("field") or "").lower():
        raise invalid(
            "Incompatible table partitioning specification. "
            f"Expected partitioning specification {_interval(have)}, "
            f"but input partitioning specification is {_interval(wanted)}"
        )


def _interval(partitioning: dict[str, Any] | None) -> str:
    if partitioning is None:
        return "none"
    column = partitioning.get("field")
    field = f",field:{column}" if column else ""
    return f"interval(type:{(partitioning.get('type') or 'DAY').lower()}{field})"


def _has_rows(catalog: Catalog, record: TableRecord, decorator: str | None) -> bool:
    where = f" WHERE {partitions.condition(record, decorator)}" if decorator else ""
    query = f"SELECT 1 FROM {record.sql}{where} LIMIT 1"
    return catalog.cursor.execute(query).fetchone() is not None


def _with_words(field: Field, record: TableRecord) -> Field:
    """`field` with the description of the table's column of that name."""
    for own in record.fields:
        if own.name == field.name and field.description is None:
            return dataclasses.replace(field, description=own.description)
    return field


def _widened(
    catalog: Catalog, record: TableRecord, fields: list[Field], updates: frozenset[str]
) -> TableRecord:
    """Widen the table for rows with columns `fields`, as far as `updates` allow."""
    have = {f.name.lower(): f for f in record.fields}
    result = {f.name.lower(): f for f in record.fields}
    table = f"Provided Schema does not match Table {record.ref}."
    for field in fields:
        own = have.get(field.name.lower())
        if own is None:
            if "ALLOW_FIELD_ADDITION" not in updates and have:
                raise invalid(f"{table} Cannot add fields (field: {field.name})")
            added = field if field.repeated else dataclasses.replace(field, mode="NULLABLE")
            result[field.name.lower()] = added
        elif has_parameters(field) and field.parameterized_type != own.parameterized_type:
            raise not_emulated(
                f"a schema with another parameter than the table's ({field.name}: "
                f"{own.parameterized_type} and {field.parameterized_type})"
            )
        elif own.data_type != field.data_type:
            raise invalid(
                f"{table} Field {field.name} has changed type from {own.data_type} to "
                f"{field.data_type}"
            )
        elif (
            own.mode == "REQUIRED"
            and field.mode == "NULLABLE"
            and "ALLOW_FIELD_RELAXATION" in updates
        ):
            result[field.name.lower()] = dataclasses.replace(own, mode="NULLABLE")
    given = {f.name.lower() for f in fields}
    for name, own in have.items():
        if name not in given and own.mode == "REQUIRED":
            if "ALLOW_FIELD_RELAXATION" not in updates:
                raise invalid(f"{table} Field {own.name} is missing in new schema")
            result[name] = dataclasses.replace(own, mode="NULLABLE")
    return with_schema(catalog, record, list(result.values()))


def with_schema(catalog: Catalog, record: TableRecord, fields: list[Field]) -> TableRecord:
    """The table with columns `fields`: its own, some relaxed, and new ones."""
    have = {f.name.lower(): f for f in record.fields}
    placeholder = not have and not record.by_ingestion_time
    for field in fields:
        own = have.get(field.name.lower())
        column = quoted(field.name)
        if own is None:
            definition = column_definition(field)
            catalog.cursor.execute(f"ALTER TABLE {record.sql} ADD COLUMN {definition}")
        elif own.mode == "REQUIRED" and field.mode == "NULLABLE":
            catalog.cursor.execute(f"ALTER TABLE {record.sql} ALTER {column} DROP NOT NULL")
        elif own.duckdb != field.duckdb:
            catalog.cursor.execute(
                f"ALTER TABLE {record.sql} ALTER {column} SET DATA TYPE {field.duckdb}"
            )
            streaming_buffer.forget(catalog.cursor, record.relation)
    if placeholder and fields:
        catalog.cursor.execute(f"ALTER TABLE {record.sql} DROP COLUMN {quoted(PLACEHOLDER)}")
    if fields != record.fields:
        record = record.with_fields(fields)
        catalog.save(record)
    return record


def anonymous(project: str, job: str) -> TableRef:
    """The destination of a query that names none."""
    return TableRef(project, ANONYMOUS, f"anon_{job}")
