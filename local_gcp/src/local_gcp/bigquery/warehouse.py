"""In-process access to tables, for other services of this server: Vertex AI uses it."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from .catalog import Catalog, now_ms
from .database import Database, lend, quoted, stream
from .destination import Disposition, insert, prepare
from .jobs import Job
from .locks import TableLocks
from .refs import DatasetRef, TableRef
from .resources import new_dataset
from .schema import Field, arrow_schema
from .translation import Translation

_BATCH_ROWS = 10_000


class Warehouse:
    """Reads and writes whole tables. Thread-safe. Raises BigQueryError(notFound)."""

    def __init__(self, database: Database, locks: TableLocks, translation: Translation):
        self._database, self._locks, self._translation = database, locks, translation

    def schema(self, ref: TableRef) -> list[Field]:
        """The columns of a table or view."""
        with self._database.cursor() as cursor:
            return Catalog(cursor).get(ref).fields

    def ensure_dataset(self, ref: DatasetRef) -> None:
        """Create a dataset unless it exists."""
        with self._locks.hold([ref]), self._database.transaction() as cursor:
            catalog = Catalog(cursor)
            if catalog.find_dataset(ref) is None:
                catalog.create_dataset(ref, {"datasetId": ref.dataset, **new_dataset({})})

    def read(
        self, ref: TableRef, columns: list[str] | None = None, where: str | None = None
    ) -> pa.RecordBatchReader:
        """The current rows of a table or view, in batches.

        `where`: GoogleSQL condition over the table's columns.
        """
        fields = self.schema(ref)
        chosen = [f for name in columns for f in fields if f.name == name] if columns else fields
        missing = set(columns or ()) - {f.name for f in fields}
        if missing:
            raise KeyError(f"{ref} has no column {', '.join(sorted(missing))}.")
        schema = arrow_schema(chosen)

        def batches() -> Iterable[pa.RecordBatch]:
            with self._database.cursor() as cursor:
                cursor.execute("BEGIN")
                query = self._translation.table_query(cursor, ref, [f.name for f in chosen], where)
                with stream(cursor, query, _BATCH_ROWS) as reader:
                    for batch in reader:
                        yield batch.cast(schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def write(
        self,
        ref: TableRef,
        batches: pa.RecordBatchReader | pa.Table,
        fields: list[Field],
        disposition: str = "WRITE_TRUNCATE",
    ) -> int:
        """Write rows with columns `fields` to a table, atomically; create it if needed.

        `disposition`: WRITE_TRUNCATE, WRITE_APPEND or WRITE_EMPTY. Returns the number of rows.
        """
        with self._locks.hold([ref]), self._database.transaction() as cursor:
            job = Job({"jobReference": {"jobId": f"write_{now_ms()}"}})
            job.cursor = cursor
            record = prepare(job.catalog, ref, fields, Disposition(disposition))
            lend(cursor, "written_rows", batches)
            columns = ", ".join(quoted(f.name) for f in fields)
            rows = insert(job, record, fields, f"SELECT {columns} FROM written_rows", ref.partition)
            job.catalog.save(record.changed())
            return rows
