"""A pool of threads for work of the server that takes longer than a call may.

The work has no state of its own: after a kill it starts again from the stored records, so it must
be idempotent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local_gcp.wire import RpcError, status_of

log = logging.getLogger(__name__)

THREADS = 4


class Background:
    """See the module."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="vertex")
        self._stopping = False

    def submit(
        self, work: Callable[..., None], failed: Callable[..., None], *arguments: Any
    ) -> None:
        """Call `work(*arguments)` soon; `failed(*arguments, error)` with a google.rpc.Status if it
        raises.
        """
        if not self._stopping:
            self._threads.submit(self._run, work, failed, arguments)

    def stop(self) -> None:
        """Wait for running work; other work is started at the next start."""
        self._stopping = True
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _run(self, work: Callable, failed: Callable, arguments: tuple) -> None:
        try:
            work(*arguments)
        except Exception as error:
            if not isinstance(error, RpcError):
                log.exception("%s%s", work.__qualname__, arguments)
            try:
                failed(*arguments, status_of(error))
            except Exception:
                log.exception("%s%s could not be reported as failed", work.__qualname__, arguments)
