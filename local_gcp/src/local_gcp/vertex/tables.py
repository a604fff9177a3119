"""Converts tables from CSV objects and BigQuery tables to Parquet files, and back.

All functions stream: the memory does not depend on the number of rows.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.refs import DatasetRef, TableRef
from local_gcp.bigquery.schema import field_from_arrow
from local_gcp.field_errors import invalid_field
from local_gcp.project import project_id
from local_gcp.vertex import gcs, splits
from local_gcp.vertex.csv_rows import csv_rows
from local_gcp.wire import RpcError, failed_precondition, not_emulated


class Tables:
    """Reads and writes tables. `buckets`: Cloud Storage's folder; `warehouse`: BigQuery, if any."""

    def __init__(self, buckets: Path, warehouse: Any = None):
        self.buckets, self._warehouse = buckets, warehouse

    def stage(self, source: str | Sequence[str], target: Path, field: str) -> None:
        """Write the rows of bq://P.D.T, or of gs:// CSV objects, to one Parquet file.

        FAILED_PRECONDITION or NOT_FOUND with the reason when the source cannot be read.
        """
        if isinstance(source, str):
            with self._bigquery(field) as warehouse:
                reader = warehouse.read(table_ref(source, field))
                write_parquet(reader.schema, reader, target)
        else:
            files = gcs.matching(self.buckets, source, field)
            write_parquet(*csv_rows(files, field), target)

    def publish(
        self, uri: str, file: Path, field: str, *, replace: bool = True, create: bool = True
    ) -> None:
        """Create table bq://P.D.T from a Parquet file; with `create`, also its dataset if needed.

        Raises ALREADY_EXISTS if the table exists and must not be replaced.
        """
        with self._bigquery(field) as warehouse, pq.ParquetFile(file) as rows:
            ref = table_ref(uri, field)
            if create:
                warehouse.ensure_dataset(ref.dataset_ref)
            schema = rows.schema_arrow
            # Not iter_batches: it keeps what it has read of the file.
            groups = map(rows.read_row_group, range(rows.num_row_groups))
            batches = pa.RecordBatchReader.from_batches(
                schema, (batch for group in groups for batch in group.to_batches())
            )
            disposition = "WRITE_TRUNCATE" if replace else "WRITE_EMPTY"
            fields = [field_from_arrow(column) for column in schema]
            warehouse.write(ref, batches, fields, disposition)

    def exists(self, uri: str, field: str) -> bool:
        """Return whether table bq://P.D.T exists."""
        try:
            with self._bigquery(field) as warehouse:
                warehouse.schema(table_ref(uri, field))
        except RpcError as error:
            if error.code == grpc.StatusCode.NOT_FOUND:
                return False
            raise
        return True

    @contextlib.contextmanager
    def _bigquery(self, field: str) -> Iterator[Any]:
        if self._warehouse is None:
            raise not_emulated(f"{field}: BigQuery tables", "Use CSV objects in gs://.")
        try:
            yield self._warehouse
        except BigQueryError as error:
            code = _CODES.get(error.reason, grpc.StatusCode.FAILED_PRECONDITION)
            raise RpcError(code, f"{field}: {error.message}") from None


_CODES = {
    "notFound": grpc.StatusCode.NOT_FOUND,
    "duplicate": grpc.StatusCode.ALREADY_EXISTS,
    "notImplemented": grpc.StatusCode.UNIMPLEMENTED,
    "invalid": grpc.StatusCode.INVALID_ARGUMENT,
}


def table_ref(uri: str, field: str) -> TableRef:
    """bq://PROJECT.DATASET.TABLE; INVALID_ARGUMENT for another form or another project."""
    text = uri.removeprefix("bq://")
    try:
        if not uri.startswith("bq://"):
            raise ValueError
        ref = TableRef.parse(text, project_id())
    except (BigQueryError, ValueError):
        raise invalid_field(field, f"{uri!r} is not bq://PROJECT.DATASET.TABLE.") from None
    _check_project(ref.project, field)
    return ref


def destination(uri: str, field: str) -> tuple[str | None, str | None]:
    """(dataset, table) in bq://PROJECT[.DATASET[.TABLE]]; None for those it lacks."""
    if not uri.startswith("bq://"):
        raise invalid_field(field, f"{uri!r} is not bq://PROJECT[.DATASET[.TABLE]].")
    parts = uri.removeprefix("bq://").replace(":", ".").rstrip(".").split(".")
    _check_project(parts[0], field)
    try:
        if len(parts) == 1:
            return None, None
        if len(parts) == 2:
            return DatasetRef.parse(".".join(parts), project_id()).dataset, None
        ref = TableRef.parse(".".join(parts), project_id())
    except BigQueryError as error:
        raise invalid_field(field, error.message) from None
    return ref.dataset, ref.table


def _check_project(project: str, field: str) -> None:
    if project != project_id():
        raise invalid_field(field, f"The only project is {project_id()}, not {project!r}.")


def write_parquet(schema: pa.Schema, batches: Iterable[pa.RecordBatch], target: Path) -> int:
    """Write rows to a Parquet file, atomically; returns their number."""
    new, rows = target.with_name(f"{target.name}.new"), 0
    with pq.ParquetWriter(new, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    os.replace(new, target)
    return rows


def split_parquet(source: Path, sets: np.ndarray, targets: Sequence[Path]) -> list[int]:
    """Write each row of `source` to the target of its set; returns the targets' rows.

    `sets`: for each row the place of its target, or splits.IGNORED.
    """
    with pq.ParquetFile(source) as rows, contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(pq.ParquetWriter(target, rows.schema_arrow)) for target in targets
        ]
        start = 0
        # Not iter_batches: it keeps what it has read of the file.
        for group in range(rows.num_row_groups):
            table = rows.read_row_group(group)
            part = sets[start : start + table.num_rows]
            start += table.num_rows
            for place, writer in enumerate(writers):
                writer.write_table(table.filter(pa.array(part == place)))
    return [int((sets == place).sum()) for place in range(len(targets))]


def assign(source: Path, config: Any, field: str) -> np.ndarray:
    """int8[rows]: the set of each row of a Parquet file, by an InputDataConfig; see `splits`."""
    with pq.ParquetFile(source) as rows:
        count, names = rows.metadata.num_rows, rows.schema_arrow.names
    if "predefined_split" not in config:
        return splits.by_fraction(count, splits.fractions(config.fraction_split, field))
    key = config.predefined_split.key
    if key not in names:
        raise failed_precondition(f"{field}: there is no column {key!r}; there are {names}.")
    return splits.by_name(pq.read_table(source, columns=[key])[key])
