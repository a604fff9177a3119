"""Read sessions: a snapshot of a table's rows in files, one per stream."""

from __future__ import annotations

import dataclasses
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from .catalog import Catalog
from .database import Database, stream
from .errors import BigQueryError, invalid
from .refs import TableRef
from .schema import Field, arrow_schema
from .sizes import Sizes
from .translation import Translation

LIFETIME_SECONDS = 6 * 3600
_BATCH_ROWS = 8192
_LEAST_STREAM_ROWS = 10_000
"""The fewest rows that are worth a stream of their own."""


@dataclasses.dataclass
class Session:
    """`streams`: files of Arrow batches. `bytes`: size of the columns that are read."""

    name: str
    fields: list[Field]
    streams: list[Path]
    rows: int
    bytes: int
    expires: float


class ReadSessions:
    """Creates sessions, reads their streams and removes expired ones."""

    def __init__(self, database: Database, translation: Translation, sizes: Sizes):
        self._database, self._translation, self._sizes = database, translation, sizes
        self._sessions: dict[str, Session] = {}
        self._guard = threading.Lock()

    def create(
        self,
        ref: TableRef,
        columns: list[str],
        restriction: str,
        streams: int,
        parent: str,
    ) -> Session:
        """`columns`: empty for all. `restriction`: GoogleSQL condition or ""."""
        self._expire()
        name = f"{parent}/sessions/{uuid.uuid4().hex}"
        folder = self._database.temporary / "sessions" / name.rpartition("/")[2]
        folder.mkdir(parents=True)
        with self._database.cursor() as cursor:
            cursor.execute("BEGIN")
            record = Catalog(cursor).get(ref)
            fields = _selected(record.fields, columns)
            if record.view_query is not None:
                raise invalid(f"request failed: read of the view {record.ref}: query it instead")
            parts = self._sizes.partitions(cursor, record)
            names = {f.name.lower() for f in fields}
            size = sum(p.columns.get(n, 0) for p in parts for n in names)
            total = sum(p.rows for p in parts)
            query = self._translation.table_query(
                cursor, ref, [f.name for f in fields], restriction or None
            )
            count = max(1, min(streams, -(-total // _LEAST_STREAM_ROWS)))
            each = max(1, -(-total // count))
            with stream(cursor, query, _BATCH_ROWS) as reader:
                files, rows = _write(reader, arrow_schema(fields), folder, each)
        session = Session(name, fields, files, rows, size, time.time() + LIFETIME_SECONDS)
        with self._guard:
            self._sessions[name] = session
        return session

    def read(self, name: str, offset: int) -> Iterator[tuple[Session, pa.RecordBatch, float]]:
        """(session, batch, fraction of the stream read after it) of a stream from row `offset` on.

        Raises BigQueryError(notFound) for an unknown or expired one.
        """
        session, path = self._stream(name)
        with pa.memory_map(str(path)) as source:
            file = pa.ipc.open_file(source)
            skip, count = offset, file.num_record_batches
            for index in range(count):
                batch = file.get_batch(index)
                if skip >= batch.num_rows:
                    skip -= batch.num_rows
                    continue
                yield session, batch.slice(skip), (index + 1) / count
                skip = 0

    def session_of(self, name: str) -> Session:
        """The session of a stream."""
        return self._stream(name)[0]

    def _stream(self, name: str) -> tuple[Session, Path]:
        session_name, _, number = name.rpartition("/streams/")
        with self._guard:
            session = self._sessions.get(session_name)
        if session is None or not number.isdecimal() or int(number) >= len(session.streams):
            raise BigQueryError("notFound", f"Read stream {name} is not found or has expired.")
        return session, session.streams[int(number)]

    def _expire(self) -> None:
        with self._guard:
            over = [s for s in self._sessions.values() if s.expires < time.time()]
            for session in over:
                del self._sessions[session.name]
        for session in over:
            if session.streams:
                shutil.rmtree(session.streams[0].parent, ignore_errors=True)


def _write(
    reader: pa.RecordBatchReader, schema: pa.Schema, folder: Path, each: int
) -> tuple[list[Path], int]:
    """Write files of `each` rows. Returns (files, number of rows)."""
    paths: list[Path] = []
    writer, inside, rows = None, 0, 0
    for batch in reader:
        batch = batch.cast(schema)
        rows += batch.num_rows
        while batch.num_rows:
            if writer is None or inside == each:
                if writer is not None:
                    writer.close()
                paths.append(folder / str(len(paths)))
                writer, inside = pa.ipc.new_file(str(paths[-1]), schema), 0
            part = batch.slice(0, each - inside)
            writer.write_batch(part)
            inside += part.num_rows
            batch = batch.slice(part.num_rows)
    if writer is not None:
        writer.close()
    return paths, rows


def _selected(fields: list[Field], columns: list[str]) -> list[Field]:
    own = {f.name.lower() for f in fields}
    for name in columns:
        if "." in name or name.lower() not in own:
            raise invalid(
                "request failed: The following selected fields do not exist in the table schema: "
                + name
            )
    wanted = {name.lower() for name in columns}
    return [f for f in fields if not wanted or f.name.lower() in wanted]
