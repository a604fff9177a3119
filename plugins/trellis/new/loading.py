"""Loads a file's table into BigQuery: as a new table, or appended to one that exists; never twice.

A load job's id follows from the table's name and the rows, and BigQuery takes an id once. So a
second upload of the same rows, after a kill or by mistake, finds the job that has loaded them.
"""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from trellis.new.described import DataError, File


class Loaded(NamedTuple):
    """Rows in a table. before: when an earlier upload of the same rows ended; None: by this one."""

    rows: int
    before: datetime | None = None


def full(client: Any, address: str) -> str:
    """PROJECT.DATASET.TABLE of an address that may lack the project."""
    return address if address.count(".") == 2 else f"{client.project}.{address}"


@dataclass
class Load:
    """A file's rows on their way into a table.

    client: google.cloud.bigquery.Client. address: DATASET.TABLE or with a project. known: the table
    to append to, as BigQuery describes it; None for a new one.
    """

    client: Any
    file: File
    address: str
    location: str
    known: Any = None

    def earlier(self) -> Loaded | None:
        """Rows of this file that an earlier upload has loaded into the table; None if none has."""
        from google.api_core.exceptions import GoogleAPICallError, NotFound

        for job in self._jobs():
            try:
                job.result()
                table = self.client.get_table(full(self.client, self.address))
            except NotFound:  # the table that it made
                continue
            except GoogleAPICallError:
                if job.error_result:
                    continue
                raise
            # A younger table has the name alone; one with fewer rows was emptied since.
            if table.created <= job.ended and table.num_rows >= job.output_rows:
                return Loaded(int(job.output_rows), job.ended)
        return None

    def refuse_other_rows(self) -> None:
        """Raise DataError if a table that is to be new has rows already."""
        from google.api_core.exceptions import NotFound

        try:
            found = self.client.get_table(full(self.client, self.address))
        except NotFound:
            return
        if self.known is None and found.num_rows:
            raise self._taken()

    def run(self) -> Loaded:
        """Load the rows, if no upload before has: see `earlier`. Raises DataError."""
        from google.api_core.exceptions import Conflict, GoogleAPICallError
        from google.cloud import bigquery

        dataset = bigquery.Dataset(full(self.client, self.address).rpartition(".")[0])
        dataset.location = self.location
        try:
            if self.known is None:
                self.client.create_dataset(dataset, exists_ok=True)
            job = self._insert(1 + sum(1 for _ in self._jobs()))
            if job is not None:
                return Loaded(int(job.result().output_rows))
            if found := self.earlier():
                return found
            raise DataError(
                f"{self.address}: another upload of the same rows began before this one, and "
                "failed: upload them again"
            )
        except Conflict:
            raise self._taken() from None
        except GoogleAPICallError as error:
            raise DataError(f"{self.address} cannot be loaded: {error.message}") from None

    def _taken(self) -> DataError:
        return DataError(
            f"{self.address} has other rows already, and stays as it is: name another table, or "
            "add the rows to it with --append"
        )

    def _jobs(self) -> Iterator[Any]:
        """The jobs that were to load these rows into this table, the oldest first."""
        from google.api_core.exceptions import Forbidden, NotFound

        number = 1
        while True:
            try:
                yield self.client.get_job(self._id(number), location=self.location)
            except NotFound:
                return
            except Forbidden:
                raise DataError(
                    f"{self.address}: somebody else has uploaded the same rows (BigQuery job "
                    f"{self._id(number)}), and you may not see whether that job succeeded: look "
                    "whether the table has them"
                ) from None
            number += 1

    def _insert(self, number: int) -> Any:
        """The job of this number, new; None if there is one already."""
        from google.api_core.exceptions import Conflict
        from google.cloud import bigquery
        from pyarrow import parquet

        options = bigquery.ParquetOptions()
        options.enable_list_inference = True
        disposition = bigquery.WriteDisposition
        config = bigquery.LoadJobConfig(
            source_format=bigquery.SourceFormat.PARQUET,
            write_disposition=disposition.WRITE_APPEND if self.known else disposition.WRITE_EMPTY,
            parquet_options=options,
            # Names as they are: without it BigQuery replaces what is not ASCII.
            # https://docs.cloud.google.com/bigquery/docs/loading-data-cloud-storage-parquet
            column_name_character_map="STRICT",
        )
        if self.known:
            config.schema = self.known.schema
        content = io.BytesIO()
        parquet.write_table(self.file.table, content)
        content.seek(0)
        try:
            # One load job: the table has all of the rows, or none.
            return self.client.load_table_from_file(
                content,
                full(self.client, self.address),
                location=self.location,
                job_config=config,
                job_id=self._id(number),
            )
        except Conflict:
            return None

    def _id(self, number: int) -> str:
        return f"trellis_upload_{self._content}_{number}"

    @cached_property
    def _content(self) -> str:
        """A digest of the table's name and the rows."""
        table = self.file.table
        found = hashlib.sha256(full(self.client, self.address).encode())
        for name in sorted(table.column_names):
            found.update(f"\n{name}: {table.column(name).type}\n".encode())
            _update(found, table.column(name).chunks)
        return found.hexdigest()[:32]


def _update(digest: Any, arrays: list[Any]) -> None:
    """Add a column's values to a digest: however it is divided into arrays, and whatever stands in
    memory where a value is missing.
    """
    import pyarrow
    from pyarrow import compute

    for array in arrays:
        digest.update(_numbers(compute.is_null(array).cast(pyarrow.uint8())))
    present = [array.drop_null() for array in arrays]
    type_ = arrays[0].type if arrays else pyarrow.null()
    if pyarrow.types.is_list(type_):
        for array in present:
            digest.update(_numbers(compute.list_value_length(array)))
        _update(digest, [array.flatten() for array in present])
    elif pyarrow.types.is_string(type_):
        for array in present:
            digest.update(_numbers(compute.binary_length(array)))
        for array in present:
            digest.update("".join(array.to_pylist()).encode())
    elif not pyarrow.types.is_null(type_):
        wanted = {1: pyarrow.uint8(), 32: pyarrow.int32(), 64: pyarrow.int64()}[type_.bit_width]
        for array in present:
            array = array if pyarrow.types.is_floating(type_) else array.cast(wanted)
            digest.update(_numbers(array))


def _numbers(array: Any) -> bytes:
    """The bytes of numbers without a missing one."""
    values: bytes = array.to_numpy(zero_copy_only=False).tobytes()
    return values
