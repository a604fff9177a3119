"""Indexes of buckets, kept for a moment: a person who follows links does not wait for Google."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable

from trellis.results import Index
from trellis.web.access import Place

SECONDS = 20.0
"""How old an index may be when it is shown."""


class IndexCache:
    """read: the index of a bucket, from Cloud Storage. clock: in seconds."""

    def __init__(self, read: Callable[[Place], Index], clock: Callable[[], float] = time.monotonic):
        self._read, self._clock = read, clock
        self._kept: dict[Place, tuple[float, Index]] = {}
        self._locks: dict[Place, threading.Lock] = defaultdict(threading.Lock)

    def get(self, place: Place) -> Index:
        """The index, read anew if it is too old. Of several that ask at once, one reads it."""
        with self._locks[place]:
            at, index = self._kept.get(place, (0.0, None))
            if index is None or self._clock() - at > SECONDS:
                index = self._read(place)
                self._kept[place] = (self._clock(), index)
            return index
