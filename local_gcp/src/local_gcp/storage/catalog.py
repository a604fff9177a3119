"""Stores the metadata that a plain file does not have, in SQLite.

A row belongs to one generation of an object, and the file itself has the generation (its
modification time). So metadata and bytes change atomically although they are in two places: the row
of a new generation is written first, and becomes valid when the file is renamed to its path. A kill
in between leaves an unused row. A file written by another program has a generation without a row:
it gets Cloud Storage's defaults.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

from local_gcp.storage.checksums import Checksums

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    bucket TEXT, name TEXT, generation INTEGER, metageneration INTEGER NOT NULL,
    fields TEXT NOT NULL, crc32c TEXT NOT NULL, md5 TEXT, updated INTEGER NOT NULL, upload TEXT,
    PRIMARY KEY (bucket, name, generation)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS objects_by_upload ON objects (upload) WHERE upload IS NOT NULL;
CREATE TABLE IF NOT EXISTS buckets (
    name TEXT PRIMARY KEY, metageneration INTEGER NOT NULL, fields TEXT NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS uploads (
    id TEXT PRIMARY KEY, session TEXT NOT NULL, created INTEGER NOT NULL
) WITHOUT ROWID;
"""

_INTO_OBJECTS = "INTO objects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


@dataclasses.dataclass(frozen=True)
class ObjectRow:
    """Metadata of one generation. Times are microseconds since 1970."""

    bucket: str
    name: str
    generation: int
    metageneration: int
    fields: dict[str, Any]
    """Writable fields of the object resource: contentType, metadata, ..."""
    checksums: Checksums
    updated: int
    upload: str | None = None
    """The resumable upload that created it, for a client that resumes after a kill."""


@dataclasses.dataclass(frozen=True)
class BucketRow:
    """Metadata of a bucket. Times are microseconds since 1970."""

    name: str
    metageneration: int
    fields: dict[str, Any]
    created: int
    updated: int


class Catalog:
    """Thread-safe access to the tables; each method is one transaction."""

    def __init__(self, path: Path):
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        # WAL without a sync at each commit survives a kill of the process at any moment; losing
        # power may lose the last commits, which is acceptable for a local run.
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _all(self, sql: str, *values: Any) -> list[tuple]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def _write(self, *statements: tuple) -> None:
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            for sql, *values in statements:
                self._db.execute(sql, values)

    # Objects

    def object(self, bucket: str, name: str, generation: int) -> ObjectRow | None:
        """The row of one generation; None if local_gcp did not write it."""
        rows = self._all(
            "SELECT * FROM objects WHERE bucket = ? AND name = ? AND generation = ?",
            *(bucket, name, generation),
        )
        return _object(rows[0]) if rows else None

    def placeholder(self, bucket: str, name: str) -> ObjectRow | None:
        """The row of a placeholder object, with its generation, which a folder cannot store."""
        rows = self._all("SELECT * FROM objects WHERE bucket = ? AND name = ?", bucket, name)
        return _object(rows[-1]) if rows else None

    def placeholders(self, bucket: str) -> set[str]:
        """Names of all placeholder objects of `bucket`."""
        rows = self._all(
            "SELECT name FROM objects WHERE bucket = ? AND substr(name, -1) = '/'", bucket
        )
        return {name for (name,) in rows}

    def objects_of_upload(self, upload: str) -> list[ObjectRow]:
        """Objects that a resumable upload created, or was creating when it was interrupted."""
        return [_object(row) for row in self._all("SELECT * FROM objects WHERE upload = ?", upload)]

    def put_object(self, row: ObjectRow, live: int | None) -> None:
        """Write `row`; delete the object's other generations except `live`, the one on disk."""
        self._write(
            (
                "DELETE FROM objects WHERE bucket = ? AND name = ? AND generation IS NOT ?",
                *(row.bucket, row.name, live),
            ),
            (f"INSERT OR REPLACE {_INTO_OBJECTS}", *_values(row)),
        )

    def remember_object(self, row: ObjectRow) -> None:
        """Store what was computed for a file of another program; changes no other row."""
        self._write((f"INSERT OR IGNORE {_INTO_OBJECTS}", *_values(row)))

    def delete_object(self, bucket: str, name: str) -> None:
        self._write(("DELETE FROM objects WHERE bucket = ? AND name = ?", bucket, name))

    # Buckets

    def bucket(self, name: str) -> BucketRow | None:
        """The row of a bucket; None if another program made the folder."""
        rows = self._all("SELECT * FROM buckets WHERE name = ?", name)
        if not rows:
            return None
        name, metageneration, fields, created, updated = rows[0]
        return BucketRow(name, metageneration, json.loads(fields), created, updated)

    def put_bucket(self, row: BucketRow) -> None:
        self._write(
            (
                "INSERT OR REPLACE INTO buckets VALUES (?, ?, ?, ?, ?)",
                *(row.name, row.metageneration, json.dumps(row.fields), row.created, row.updated),
            )
        )

    def delete_bucket(self, name: str) -> None:
        """Delete the rows of the bucket and its objects."""
        self._write(
            ("DELETE FROM buckets WHERE name = ?", name),
            ("DELETE FROM objects WHERE bucket = ?", name),
        )

    # Resumable uploads

    def upload(self, id: str) -> dict[str, Any] | None:
        """The request that started the resumable upload `id`."""
        rows = self._all("SELECT session FROM uploads WHERE id = ?", id)
        return json.loads(rows[0][0]) if rows else None

    def put_upload(self, id: str, session: dict[str, Any], created: int) -> None:
        self._write(
            ("INSERT OR REPLACE INTO uploads VALUES (?, ?, ?)", id, json.dumps(session), created)
        )

    def delete_upload(self, id: str) -> None:
        self._write(("DELETE FROM uploads WHERE id = ?", id))

    def uploads_before(self, created: int) -> list[str]:
        """Ids of the uploads that started before the time `created`."""
        return [id for (id,) in self._all("SELECT id FROM uploads WHERE created < ?", created)]


def _values(row: ObjectRow) -> tuple:
    return (
        *(row.bucket, row.name, row.generation, row.metageneration, json.dumps(row.fields)),
        *(*row.checksums, row.updated, row.upload),
    )


def _object(row: tuple) -> ObjectRow:
    bucket, name, generation, metageneration, fields, crc32c, md5, updated, upload = row
    return ObjectRow(
        *(bucket, name, generation, metageneration, json.loads(fields)),
        Checksums(crc32c, md5),
        *(updated, upload),
    )
