"""The catalog for the translation of GoogleSQL (`sql.catalog.Catalog`)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from . import streaming_buffer
from .catalog import Catalog, TableRecord
from .ml import ModelRecord, Models
from .partition_times import times, unknown
from .refs import DatasetRef, ModelRef, TableRef
from .resources import checked_project
from .schema import Field
from .sizes import Sizes
from .sql.catalog import Partition, Table
from .sql.partitioning import Partitioning
from .sql.translated import MlCall


class SqlCatalog:
    """The catalog as one transaction sees it."""

    def __init__(self, catalog: Catalog, sizes: Sizes, models: Models, project: str):
        self._catalog, self._sizes, self._project = catalog, sizes, project
        self._models = models

    def table(self, ref: TableRef) -> Table:
        """The table. Raises BigQueryError(notFound); (accessDenied) for another project."""
        return self._table(self._catalog.get(self._own(ref)))

    def tables(self, dataset: DatasetRef) -> list[Table]:
        """A dataset's tables, with their sizes for INFORMATION_SCHEMA."""
        self._catalog.dataset(dataset)
        return [self._table(record, sized=True) for record in self._catalog.tables(dataset)]

    def partitions(self, ref: TableRef) -> Iterable[Partition]:
        record = self._catalog.get(ref)
        cursor = self._catalog.cursor
        known = times(cursor, record) if record.partitioning else {}
        other = unknown(record).modified
        if not record.partitioning:
            other = int(record.resource["lastModifiedTime"])
        for part in self._sizes.partitions(cursor, record):
            modified = known[part.id].modified if part.id in known else other
            yield Partition(part.id, part.rows, part.bytes, _time(modified))

    def datasets(self) -> list[DatasetRef]:
        stored = self._catalog.datasets(self._project)
        return [DatasetRef(self._project, resource["datasetId"]) for resource in stored]

    def check_model(self, ref: ModelRef) -> None:
        self._catalog.model(ref)

    def ml_fields(self, call: MlCall) -> tuple[Field, ...]:
        record = self._catalog.model(call.model)
        return self._models.fields(
            call.function, ModelRecord.from_json(record), call.input_fields, call.options
        )

    def _own(self, ref: TableRef) -> TableRef:
        return TableRef(checked_project(ref.project), ref.dataset, ref.table)

    def _table(self, record: TableRecord, sized: bool = False) -> Table:
        cursor = self._catalog.cursor
        parts = self._sizes.partitions(cursor, record) if sized else []
        buffer = streaming_buffer.resource(cursor, record) if sized else None
        waiting = {name: int(value) for name, value in (buffer or {}).items()}
        partitioning = record.partitioning
        return Table(
            ref=record.ref,
            fields=tuple(record.fields),
            relation=record.sql if record.relation else "",
            kind=record.resource["type"],
            view_query=record.view_query,
            partitioning=partitioning
            and Partitioning(partitioning.get("field"), partitioning["type"]),
            clustering=tuple(record.resource.get("clustering", {}).get("fields", ())),
            created=_time(int(record.resource["creationTime"])),
            modified=_time(int(record.resource["lastModifiedTime"])),
            rows=sum(p.rows for p in parts) - waiting.get("estimatedRows", 0),
            bytes=sum(p.bytes for p in parts) - waiting.get("estimatedBytes", 0),
        )


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
