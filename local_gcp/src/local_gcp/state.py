"""What local_gcp has acknowledged, in one SQLite file: named records in typed tables.

    state = State(home.state)
    jobs = state.table("customJobs", CustomJob)       # proto-plus or protobuf messages
    runs = state.table("runs", dict)                  # or plain JSON objects
    with state.transaction():                         # both or neither, also across kill -9
        jobs.put(name, job)
        runs.put(run_id, record)

A write is on disk when the call, or the outermost `transaction` around it, returns. All methods may
be called from any thread; transactions of different threads follow one another.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import proto

T = TypeVar("T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,  -- order of creation
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (kind, name)
)
"""


class State:
    """The file. One per process."""

    def __init__(self, path: Path | str):
        self.lock = threading.RLock()
        """Held during every call and transaction."""
        self._depth = 0
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        # WAL: one fsync a commit, and `sqlite3 state.db` can look while the server runs.
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(_SCHEMA)

    def table(self, kind: str, message: type[T]) -> Table[T]:
        """Records of one kind. `message`: dict (stored as JSON) or a message class."""
        return Table(self, kind, message)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the writes inside one atomic write. May be nested: the outermost one commits."""
        with self.lock:
            if self._depth == 0:
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    self._connection.execute("ROLLBACK")
                raise
            self._depth -= 1
            if self._depth == 0:
                self._connection.execute("COMMIT")

    def execute(self, sql: str, *values: Any) -> list[tuple]:
        """Run one statement and return all rows; `Table` is the way for everything else."""
        with self.lock:
            return self._connection.execute(sql, values).fetchall()

    def close(self) -> None:
        """Close the file. Every acknowledged write is already in it."""
        with self.lock:
            self._connection.close()


class Table(Generic[T]):
    """Records of one kind by name, in order of creation."""

    def __init__(self, state: State, kind: str, message: type[T]):
        self._state, self._kind = state, kind
        self._encode, self._decode = _codec(message)

    def put(self, name: str, value: T) -> None:
        """Create or replace; a replaced record keeps its place in the order."""
        self._state.execute(
            "INSERT INTO records (kind, name, body) VALUES (?, ?, ?) "
            "ON CONFLICT (kind, name) DO UPDATE SET body = excluded.body",
            self._kind,
            name,
            self._encode(value),
        )

    def get(self, name: str) -> T | None:
        """The record, or None."""
        rows = self._state.execute(
            "SELECT body FROM records WHERE kind = ? AND name = ?", self._kind, name
        )
        return self._decode(rows[0][0]) if rows else None

    def delete(self, name: str) -> bool:
        """Remove it; False when it was not there."""
        rows = self._state.execute(
            "DELETE FROM records WHERE kind = ? AND name = ? RETURNING name", self._kind, name
        )
        return bool(rows)

    def list(self, prefix: str = "", newest_first: bool = False) -> list[tuple[str, T]]:
        """(name, record) of all whose name starts with `prefix`."""
        order = "DESC" if newest_first else "ASC"
        rows = self._state.execute(
            "SELECT name, body FROM records WHERE kind = ? AND substr(name, 1, ?) = ? "
            f"ORDER BY sequence {order}",
            self._kind,
            len(prefix),
            prefix,
        )
        return [(name, self._decode(body)) for name, body in rows]


def _codec(message: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    if message is dict:
        return json.dumps, json.loads
    if isinstance(message, proto.message.MessageMeta):
        return message.serialize, message.deserialize
    return lambda value: value.SerializeToString(), message.FromString
