"""Health checks of replicas, each in its own thread, so that a slow one delays no other.

Vertex AI's rule (custom-container requirements): a GET of the health route returns 200 if,
and only if, the server takes requests. A replica that fails `FAILURES` consecutive checks is
unhealthy: its process is ended, and the fleet starts another in its place.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from local_gcp.vertex.endpoints.replica_call import DiedError, RefusedError, call

WHILE_STARTING = 0.2
EVERY = 2.0
TIMEOUT = 10.0
"""Seconds between checks before and after it was first ready, and the timeout."""
FAILURES = 3
_THREADS = 8


def healthy(port: int, route: str, timeout: float = TIMEOUT) -> bool:
    """Return whether the health route returns 200."""
    try:
        return call(port, "GET", route, timeout=timeout).status == 200
    except (RefusedError, DiedError, TimeoutError):
        return False


class Checks:
    """A pool of threads for checks."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="health")

    def ask(self, port: int, route: str, then) -> None:
        """Call `then(healthy)` from another thread after the check."""
        self._threads.submit(lambda: then(healthy(port, route)))

    def stop(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
