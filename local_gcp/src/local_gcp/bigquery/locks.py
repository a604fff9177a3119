"""Locks that serialize the changes of a table, as BigQuery queues them."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from .refs import DatasetRef, TableRef

_LOOK_SECONDS = 0.1


class TableLocks:
    """Locks by table, taken before a transaction begins, so that it sees earlier changes."""

    def __init__(self) -> None:
        self._locks: dict[TableRef | DatasetRef, threading.RLock] = defaultdict(threading.RLock)
        self._guard = threading.Lock()

    @contextlib.contextmanager
    def hold(
        self, refs: Iterable[TableRef | DatasetRef], check: Callable[[], None] = lambda: None
    ) -> Iterator[None]:
        """Hold the locks of `refs`. Calls `check` while it waits, which may raise."""
        with contextlib.ExitStack() as stack:
            wanted = {ref.whole if isinstance(ref, TableRef) else ref for ref in refs}
            for ref in sorted(wanted, key=str):  # a fixed order prevents deadlocks
                with self._guard:
                    lock = self._locks[ref]
                while not lock.acquire(timeout=_LOOK_SECONDS):
                    check()
                stack.callback(lock.release)
            yield
