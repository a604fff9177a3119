"""The DuckDB file that holds the tables' rows, the catalog and the jobs' states.

One file, so that one transaction can change all three: a job's changes and its state DONE are
committed together or, after a kill at any moment, not at all.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from .duckdb_text import literal as literal
from .duckdb_text import quoted as quoted
from .sql import CONNECTION_SETTINGS, register

MEMORY_LIMIT = "512MB"
"""Limit of DuckDB's memory; it writes the rest to temporary files below HOME/bigquery."""
THREADS = 2
BLOCK_BYTES = 16 << 10
"""The minimum, for new files. Each column that is written buffers some blocks: with the default,
256 KiB, 2,000 columns would fill the memory. With few columns it is about as fast."""

_TABLES = """
CREATE SCHEMA IF NOT EXISTS data;
CREATE SCHEMA IF NOT EXISTS catalog;
CREATE SEQUENCE IF NOT EXISTS catalog.relations;
CREATE TABLE IF NOT EXISTS catalog.datasets (project VARCHAR, dataset VARCHAR, resource VARCHAR);
CREATE TABLE IF NOT EXISTS catalog.tables (
    project VARCHAR, dataset VARCHAR, "table" VARCHAR, relation VARCHAR, resource VARCHAR);
CREATE TABLE IF NOT EXISTS catalog.partitions (
    relation VARCHAR, "partition" VARCHAR, created BIGINT, modified BIGINT);
CREATE TABLE IF NOT EXISTS catalog.streamed (
    relation VARCHAR, streamed BIGINT, "columns" VARCHAR, hash UBIGINT, bytes BIGINT);
CREATE TABLE IF NOT EXISTS catalog.models (
    project VARCHAR, dataset VARCHAR, model VARCHAR, record VARCHAR);
CREATE TABLE IF NOT EXISTS catalog.jobs (
    project VARCHAR, location VARCHAR, job VARCHAR, parent VARCHAR, created BIGINT,
    state VARCHAR, attempt INTEGER, resource VARCHAR);
"""


class Database:
    """The open file. Each job and each request has a cursor, a connection of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.temporary = folder / "tmp"
        """For files of requests and jobs; emptied at every start."""

    def open(self) -> None:
        """Open the file, or create it; after a kill it has all that was committed."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(parents=True)
        self._connection = connect(self.folder / "warehouse.duckdb", self.temporary / "duckdb")
        self._connection.execute(_TABLES)

    def close(self) -> None:
        """Close the file, and with it all cursors."""
        self._connection.close()

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection with its own transactions; an open transaction is rolled back at the end."""
        cursor = self._connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor in a transaction, which is committed at the end unless the block raises."""
        with self.cursor() as cursor:
            cursor.execute("BEGIN")
            yield cursor
            cursor.execute("COMMIT")


def connect(path: Path | str, temporary: Path) -> duckdb.DuckDBPyConnection:
    """Open DuckDB without extensions, in UTC and with BigQuery's functions."""
    connection = duckdb.connect(
        str(path),
        config={
            # In DuckDB 2.0.0, about one in some hundred failing COPY TO statements waits for the
            # I/O threads forever, even if it is interrupted.
            "async_threads": "0",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "default_block_size": str(BLOCK_BYTES),
            "memory_limit": MEMORY_LIMIT,
            "temp_directory": str(temporary),
            "threads": THREADS,
        },
    )
    for name, value in CONNECTION_SETTINGS.items():
        connection.execute(f"SET GLOBAL {name} = {value}")
    connection.execute("BEGIN")  # one write to disk for all statements
    register(connection)
    connection.execute("COMMIT")
    return connection


@contextlib.contextmanager
def stream(
    cursor: duckdb.DuckDBPyConnection, query: str, rows: int
) -> Iterator[pa.RecordBatchReader]:
    """The result of `query` for the block, in batches of `rows`. Raises duckdb.Error.

    Until the block ends, the cursor cannot run other statements, not even ROLLBACK; after it, it
    can, also if the result was not read to its end.
    """
    cursor.complete()
    reader = cursor.sql(query).to_arrow_reader(rows)
    try:
        yield reader
    except OSError as error:
        if error.errno is not None:  # a file's
            raise
        raise _of_arrow(error) from None
    finally:
        reader.close()


def _of_arrow(error: OSError) -> duckdb.Error:
    """The DuckDB error while a result was read, from its text: Arrow passes on only that."""
    kinds = {
        "INTERRUPT": duckdb.InterruptException,
        "INTERNAL": duckdb.InternalException,
        "Out of Memory": duckdb.OutOfMemoryException,
    }
    kind, _, _ = str(error).partition(" Error: ")
    return kinds.get(kind, duckdb.InvalidInputException)(str(error))


def lend(cursor: duckdb.DuckDBPyConnection, name: str, rows: Any) -> None:
    """Let the cursor's queries read Arrow `rows` (a table, or a reader: once) as `name`."""
    cursor.complete()
    cursor.register(name, rows)
