"""The catalog of datasets, tables, views and models, with each table's name in DuckDB."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import time
from typing import Any

import duckdb

from . import encryption, locations
from .database import quoted
from .errors import BigQueryError, already_exists, not_found
from .refs import DatasetRef, ModelRef, TableRef
from .schema import Field, fields_from_api, fields_to_api

ANONYMOUS = "_query_results"
"""The hidden dataset of query results without a destination."""

PARTITION_TIME = "_PARTITIONTIME"
"""Hidden column of a table that is partitioned by ingestion time: start of the row's partition."""

_TABLE = 'project = ? AND dataset = ? AND "table" = ?'


def now_ms() -> int:
    """Milliseconds since 1970, BigQuery's unit of time."""
    return time.time_ns() // 1_000_000


def etag(resource: Any) -> str:
    """A tag that changes with the resource."""
    text = json.dumps(resource, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:22]


@dataclasses.dataclass(frozen=True)
class TableRecord:
    """A table or view. `resource`: REST Table without its computed fields.

    `relation`: name of the DuckDB table in schema `data`; None for a view.
    """

    ref: TableRef
    relation: str | None
    resource: dict[str, Any]

    @functools.cached_property
    def fields(self) -> list[Field]:
        """The columns; do not change the list."""
        return fields_from_api(self.resource.get("schema", {}))

    @property
    def sql(self) -> str:
        """Quoted name of the DuckDB table."""
        assert self.relation
        return f"data.{quoted(self.relation)}"

    @property
    def partitioning(self) -> dict[str, Any] | None:
        """REST TimePartitioning."""
        return self.resource.get("timePartitioning")

    @property
    def by_ingestion_time(self) -> bool:
        return bool(self.partitioning and not self.partitioning.get("field"))

    @property
    def view_query(self) -> str | None:
        return self.resource.get("view", {}).get("query")

    def changed(self, **changes: Any) -> TableRecord:
        """A copy with other fields in `resource` (None removes one), modified now."""
        resource = {**self.resource, **changes, "lastModifiedTime": str(now_ms())}
        return dataclasses.replace(
            self, resource={k: v for k, v in resource.items() if v is not None}
        )

    def with_fields(self, fields: list[Field]) -> TableRecord:
        return self.changed(schema=fields_to_api(fields))


class Catalog:
    """Reads and changes the catalog through one cursor, within its transaction.

    `location`: a job's, which finds only resources in it; None for requests, which find all.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection, location: str | None = None):
        self.cursor, self.location = cursor, location

    @property
    def everywhere(self) -> Catalog:
        """The catalog of all locations."""
        return Catalog(self.cursor)

    # Datasets -----------------------------------------------------------------------------------

    def find_dataset(self, ref: DatasetRef) -> dict[str, Any] | None:
        """REST Dataset, or None."""
        row = self.cursor.execute(
            "SELECT resource FROM catalog.datasets WHERE project = ? AND dataset = ?",
            [ref.project, ref.dataset],
        ).fetchone()
        resource = json.loads(row[0]) if row else None
        return resource if resource and self._is_here(resource) else None

    def dataset(self, ref: DatasetRef) -> dict[str, Any]:
        """REST Dataset; raises BigQueryError(notFound)."""
        found = self.find_dataset(ref)
        if found is None:
            raise not_found("Dataset", ref, self.location)
        return found

    def datasets(self, project: str) -> list[dict[str, Any]]:
        """REST Datasets by name."""
        rows = self.cursor.execute(
            "SELECT resource FROM catalog.datasets WHERE project = ? ORDER BY dataset", [project]
        ).fetchall()
        return list(filter(self._is_here, (json.loads(row[0]) for row in rows)))

    def _is_here(self, resource: dict[str, Any]) -> bool:
        return self.location is None or locations.same(
            self.location, resource.get("location", locations.DEFAULT)
        )

    def location_of(self, ref: TableRef) -> str | None:
        """Location of the table's dataset; None if the dataset does not exist."""
        if ref.dataset == ANONYMOUS:
            table = self.find(ref)
            return table.resource.get("location", locations.DEFAULT) if table else None
        dataset = self.find_dataset(ref.dataset_ref)
        return dataset["location"] if dataset else None

    def create_dataset(self, ref: DatasetRef, resource: dict[str, Any]) -> None:
        """Create a dataset. Raises BigQueryError(duplicate) if it exists."""
        if self.everywhere.find_dataset(ref) is not None:
            raise already_exists("Dataset", ref)
        self.cursor.execute(
            "INSERT INTO catalog.datasets VALUES (?, ?, ?)",
            [ref.project, ref.dataset, json.dumps(resource)],
        )

    def update_dataset(self, ref: DatasetRef, resource: dict[str, Any]) -> None:
        self.cursor.execute(
            "UPDATE catalog.datasets SET resource = ? WHERE project = ? AND dataset = ?",
            [json.dumps(resource), ref.project, ref.dataset],
        )

    def delete_dataset(self, ref: DatasetRef, contents: bool) -> None:
        """Delete a dataset. Raises BigQueryError(resourceInUse) if not empty, unless `contents`."""
        self.dataset(ref)
        tables, models = self.tables(ref), self.models(ref)
        if (tables or models) and not contents:
            raise BigQueryError("resourceInUse", f"Dataset {ref} is still in use")
        for record in tables:
            self.drop(record)
        for model in models:
            self.delete_model(ModelRef(ref.project, ref.dataset, model))
        self.cursor.execute(
            "DELETE FROM catalog.datasets WHERE project = ? AND dataset = ?",
            [ref.project, ref.dataset],
        )

    # Tables and views ---------------------------------------------------------------------------

    def find(self, ref: TableRef) -> TableRecord | None:
        """The table or view, unless it has expired."""
        ref = ref.whole
        row = self.cursor.execute(
            f"SELECT relation, resource FROM catalog.tables WHERE {_TABLE}",
            [ref.project, ref.dataset, ref.table],
        ).fetchone()
        if row is None:
            return None
        record = TableRecord(ref, row[0], json.loads(row[1]))
        if ref.dataset == ANONYMOUS:
            here = self._is_here(record.resource)
        else:
            here = self.location is None or self.find_dataset(ref.dataset_ref) is not None
        return record if here and not _expired(record) else None

    def get(self, ref: TableRef) -> TableRecord:
        """The table or view. Raises BigQueryError(notFound) for a missing table or dataset."""
        found = self.find(ref)
        if found is None:
            if ref.dataset != ANONYMOUS:
                self.dataset(ref.dataset_ref)
            raise not_found("Table", ref.whole, self.location)
        return found

    def tables(self, ref: DatasetRef) -> list[TableRecord]:
        """The tables and views of a dataset, by name."""
        rows = self.cursor.execute(
            'SELECT "table", relation, resource FROM catalog.tables '
            'WHERE project = ? AND dataset = ? ORDER BY "table"',
            [ref.project, ref.dataset],
        ).fetchall()
        records = [
            TableRecord(TableRef(ref.project, ref.dataset, name), relation, json.loads(resource))
            for name, relation, resource in rows
        ]
        return [record for record in records if not _expired(record)]

    def create(self, ref: TableRef, resource: dict[str, Any]) -> TableRecord:
        """Create an empty table, or a view. Raises BigQueryError(duplicate or notFound)."""
        ref = ref.whole
        if self.find(ref) is not None:
            raise already_exists("Table", ref)
        self._forget(ref)  # an expired table may still be stored
        now = str(now_ms())
        expiration = None
        key = resource.get("encryptionConfiguration")
        if ref.dataset == ANONYMOUS:
            resource = {**resource, "location": self.location or locations.DEFAULT}
            key = encryption.checked(key, resource["location"])
        else:
            dataset = self.dataset(ref.dataset_ref)
            if key is None and "view" not in resource:
                key = dataset.get("defaultEncryptionConfiguration")
            key = encryption.checked(key, dataset["location"])
            if dataset.get("defaultTableExpirationMs") and "view" not in resource:
                expiration = str(int(now) + int(dataset["defaultTableExpirationMs"]))
        resource = {
            "type": "VIEW" if "view" in resource else "TABLE",
            **({"expirationTime": expiration} if expiration else {}),
            **resource,
            **({"encryptionConfiguration": key} if key else {}),
            "creationTime": now,
            "lastModifiedTime": now,
        }
        relation = None if "view" in resource else self._make_relation(ref, resource)
        record = TableRecord(ref, relation, resource)
        self.cursor.execute(
            "INSERT INTO catalog.tables VALUES (?, ?, ?, ?, ?)",
            [ref.project, ref.dataset, ref.table, relation, json.dumps(resource)],
        )
        return record

    def save(self, record: TableRecord) -> None:
        """Store the record's resource and relation."""
        self.cursor.execute(
            f"UPDATE catalog.tables SET relation = ?, resource = ? WHERE {_TABLE}",
            [record.relation, json.dumps(record.resource), *record.ref.api.values()],
        )

    def emptied(self, record: TableRecord, fields: list[Field]) -> TableRecord:
        """The table with new columns and no rows; readers of the old rows can go on."""
        new = record.with_fields(fields)
        relation = self._make_relation(record.ref, new.resource)
        self.cursor.execute(f"DROP TABLE {record.sql}")
        self._forget_rows(record.relation)
        new = dataclasses.replace(new, relation=relation)
        self.save(new)
        return new

    def rename(self, ref: TableRef, new: TableRef) -> None:
        """Rename a table within its dataset."""
        self.cursor.execute(
            f'UPDATE catalog.tables SET "table" = ? WHERE {_TABLE}', [new.table, *ref.api.values()]
        )

    def drop(self, record: TableRecord) -> None:
        """Remove a table with its rows, or a view."""
        self._forget(record.ref)

    def remove_expired(self) -> None:
        """Delete the rows of expired tables."""
        rows = self.cursor.execute(
            'SELECT project, dataset, "table", relation, resource FROM catalog.tables'
        ).fetchall()
        for project, dataset, table, relation, resource in rows:
            ref = TableRef(project, dataset, table)
            if _expired(TableRecord(ref, relation, json.loads(resource))):
                self._forget(ref)

    def _forget(self, ref: TableRef) -> None:
        row = self.cursor.execute(
            f"SELECT relation FROM catalog.tables WHERE {_TABLE}", [*ref.api.values()]
        ).fetchone()
        if row is None:
            return
        if row[0]:
            self.cursor.execute(f"DROP TABLE IF EXISTS data.{quoted(row[0])}")
            self._forget_rows(row[0])
        self.cursor.execute(f"DELETE FROM catalog.tables WHERE {_TABLE}", [*ref.api.values()])

    def _forget_rows(self, relation: str | None) -> None:
        self.cursor.execute("DELETE FROM catalog.partitions WHERE relation = ?", [relation])
        self.cursor.execute("DELETE FROM catalog.streamed WHERE relation = ?", [relation])

    def _make_relation(self, ref: TableRef, resource: dict[str, Any]) -> str:
        # Each version of a table has its own name: names are case-sensitive in BigQuery and not in
        # DuckDB, and readers of a replaced table continue with the old version.
        row = self.cursor.execute("SELECT nextval('catalog.relations')").fetchone()
        assert row
        relation = f"{ref.dataset}.{ref.table}.{row[0]}"
        columns = [column_definition(f) for f in fields_from_api(resource.get("schema", {}))]
        partitioning = resource.get("timePartitioning")
        if partitioning and not partitioning.get("field"):
            unit = partitioning["type"].lower()
            columns.append(
                f"{quoted(PARTITION_TIME)} TIMESTAMPTZ DEFAULT date_trunc('{unit}', now())"
            )
        if not columns:  # DuckDB has no table without columns, BigQuery has
            columns = [f"{quoted(PLACEHOLDER)} BOOLEAN"]
        self.cursor.execute(f"CREATE TABLE data.{quoted(relation)} ({', '.join(columns)})")
        return relation

    # Models -------------------------------------------------------------------------------------

    def models(self, ref: DatasetRef) -> dict[str, dict[str, Any]]:
        """Model records of the package `ml`, by model id."""
        rows = self.cursor.execute(
            "SELECT model, record FROM catalog.models WHERE project = ? AND dataset = ? "
            "ORDER BY model",
            [ref.project, ref.dataset],
        ).fetchall()
        return {name: json.loads(record) for name, record in rows}

    def all_models(self) -> list[dict[str, Any]]:
        """Records of all datasets' models."""
        rows = self.cursor.execute("SELECT record FROM catalog.models").fetchall()
        return [json.loads(row[0]) for row in rows]

    def find_model(self, ref: ModelRef) -> dict[str, Any] | None:
        """The model's record, or None."""
        if self.find_dataset(ref.dataset_ref) is None:
            return None
        return self.models(ref.dataset_ref).get(ref.model)

    def model(self, ref: ModelRef) -> dict[str, Any]:
        """The model's record; raises BigQueryError(notFound) for a missing model or dataset."""
        found = self.find_model(ref)
        if found is None:
            self.dataset(ref.dataset_ref)
            raise not_found("Model", ref, self.location)
        return found

    def put_model(self, ref: ModelRef, record: dict[str, Any]) -> None:
        """Create or replace a model's record."""
        self.dataset(ref.dataset_ref)
        self.delete_model(ref)
        self.cursor.execute(
            "INSERT INTO catalog.models VALUES (?, ?, ?, ?)",
            [*ref.api.values(), json.dumps(record)],
        )

    def delete_model(self, ref: ModelRef) -> None:
        self.cursor.execute(
            "DELETE FROM catalog.models WHERE project = ? AND dataset = ? AND model = ?",
            [*ref.api.values()],
        )


PLACEHOLDER = "_no_columns"
"""Column of the DuckDB table while the BigQuery table has no columns."""


def column_definition(field: Field) -> str:
    """The column's definition for CREATE TABLE and ADD COLUMN."""
    # A NULL array is stored as an empty one; DuckDB fills a new column with the default too.
    more = {"REQUIRED": " NOT NULL", "REPEATED": " DEFAULT []"}.get(field.mode, "")
    return f"{quoted(field.name)} {field.duckdb}{more}"


def _expired(record: TableRecord) -> bool:
    expiration = record.resource.get("expirationTime")
    return expiration is not None and int(expiration) <= now_ms()
