"""Indexes of buckets, kept for a while: a page does not wait for Google."""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable

from trellis.results import Index
from trellis.web.access import Place

FRESH_SECONDS = 10.0
"""Age of an index from which it is read again, in the background."""

OLDEST_SECONDS = 300.0
"""Largest age of a shown index: a request that finds an older one waits for a new one."""

_log = logging.getLogger(__name__)


def _in_background(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


class IndexCache:
    """read: the index of a bucket, from Cloud Storage. clock: in seconds. start: runs a function
    beside this one.
    """

    def __init__(
        self,
        read: Callable[[Place], Index],
        clock: Callable[[], float] = time.monotonic,
        start: Callable[[Callable[[], None]], None] = _in_background,
    ):
        self._read, self._clock, self._start = read, clock, start
        self._kept: dict[Place, tuple[float, Index]] = {}
        self._locks: dict[Place, threading.Lock] = defaultdict(threading.Lock)

    def get(self, place: Place) -> Index:
        """The index. Of several that ask at once, one reads it. Raises what `read` raises if there
        is none that may be shown.
        """
        if self._age(place) > OLDEST_SECONDS:
            with self._locks[place]:
                if self._age(place) > OLDEST_SECONDS:
                    self._renew(place)
        elif self._age(place) > FRESH_SECONDS and self._locks[place].acquire(blocking=False):
            self._start(lambda: self._renew_and_release(place))
        return self._kept[place][1]

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()

    def _age(self, place: Place) -> float:
        return self._clock() - self._kept[place][0] if place in self._kept else float("inf")

    def _renew(self, place: Place) -> None:
        self._kept[place] = (self._clock(), self._read(place))

    def _renew_and_release(self, place: Place) -> None:
        try:
            self._renew(place)
        except Exception:
            _log.warning("The index of gs://%s was not read again", place.bucket, exc_info=True)
        finally:
            self._locks[place].release()
