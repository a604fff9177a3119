"""Durable state in one SQLite file: named records in typed tables.

    state = State(home.state)
    jobs = state.table("customJobs", CustomJob)       # proto-plus or protobuf messages
    runs = state.table("runs", dict)                  # or plain JSON objects
    with state.transaction():                         # both or neither, also across kill -9
        jobs.put(name, job)
        runs.put(run_id, record)

A write is in the file when the call, or the outermost `transaction` around it, returns: a kill of
the process loses none; losing power may lose the last ones, which is acceptable for a local run.
All methods may be called from any thread; transactions of different threads follow one another.
"""

from __future__ import annotations

import collections
import contextlib
import json
import sqlite3
import threading
import time
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

    def __init__(self, path: Path | str, lag: float = 0.0):
        """`lag`: age in seconds of the state that `Table.list_lagging` shows."""
        self.lag = lag
        self.lock = threading.RLock()
        """Held during every call and transaction."""
        self._depth = 0
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        # WAL without a sync at each commit, as storage.catalog has it: a commit took 0.03 ms with
        # it, 49 ms with one on a busy disk. `sqlite3 state.db` can read while the server runs.
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
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
        """Run one statement and return all rows; for `Table` only."""
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
        self._before: collections.deque[tuple[float, str, T | None]] = collections.deque()
        """(time, name, previous value) of the writes in the last `State.lag` seconds."""

    def put(self, name: str, value: T) -> None:
        """Create or replace; a replaced record keeps its place in the order."""
        self._note(name)
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
        self._note(name)
        rows = self._state.execute(
            "DELETE FROM records WHERE kind = ? AND name = ? RETURNING name", self._kind, name
        )
        return bool(rows)

    def list_lagging(self, prefix: str = "") -> list[tuple[str, T]]:
        """`list` as of `State.lag` seconds ago; writes before a restart are visible at once.

        For lists of the API: Google documents few of them as strongly consistent.
        """
        with self._state.lock:
            records = dict(self.list(prefix))
            shown = time.monotonic() - self._state.lag
            for written, name, before in reversed(self._before):
                if written <= shown:
                    break
                if before is not None and name.startswith(prefix):
                    records[name] = before
                elif before is None:
                    records.pop(name, None)
        return list(records.items())

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

    def _note(self, name: str) -> None:
        """Record the previous value before a write."""
        if not self._state.lag:
            return
        with self._state.lock:
            now = time.monotonic()
            self._before.append((now, name, self.get(name)))
            while self._before[0][0] < now - self._state.lag:
                self._before.popleft()


def _codec(message: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    if message is dict:
        return json.dumps, json.loads
    if isinstance(message, proto.message.MessageMeta):
        return message.serialize, message.deserialize
    return lambda value: value.SerializeToString(), message.FromString
