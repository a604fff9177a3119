"""Reads parts of a file on disk into memory that is used again.

A page that is read through the system's page cache is copied once more, and under a limit of memory
another page must be found to drop for it. So whole rows of a page or more are read past it
(O_DIRECT) where the file system can: https://man7.org/linux/man-pages/man2/open.2.html
"""

import mmap
import os
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

import numpy as np

_ALIGNED = 4096
"""Bytes. Places in file and memory, and sizes, that every disk takes for such reads; most take
multiples of 512.
"""

_THREADS = ThreadPoolExecutor(4, "read")
"""A disk gives more of several places at once; and where cores are busy, one thread waits for each
of its reads, then for a core.
"""

_OF_THREAD = threading.local()
"""memory: what a thread reads pages into that begin or end elsewhere than the part."""


class Count:
    """Bytes that all readers of this process have read."""

    def __init__(self) -> None:
        self.bytes = 0
        self._lock = threading.Lock()

    def add(self, size: int) -> None:
        with self._lock:
            self.bytes += size


COUNT = Count()


class Reader:
    """A file's parts. row: bytes of what is read as a whole; smaller rows come by the page cache,
    which has their neighbours.
    """

    def __init__(self, file: BinaryIO, row: int):
        self._file = file
        self._number, self._direct = file.fileno(), False
        if row >= _ALIGNED:
            try:
                self._number = os.open(f"/proc/self/fd/{self._number}", os.O_RDONLY | os.O_DIRECT)
                self._direct = True
                weakref.finalize(self, os.close, self._number)
            except OSError:  # as of file systems in memory, before Linux 6.6
                pass
        if not self._direct:  # a window's runs are asked for; what lies between is not
            os.posix_fadvise(self._number, 0, 0, os.POSIX_FADV_RANDOM)
        self._free: list[mmap.mmap] = []

    def read(self, parts: Sequence[tuple[int, int]]) -> np.ndarray:
        """The bytes (n,) of these parts, from begin to end, one after the other.

        Their memory is used again once nothing refers to the array. Raises OSError.
        """
        places = np.cumsum([0, *(end - begin for begin, end in parts)]).tolist()
        found = self._array(places[-1])

        def read(place: int, part: tuple[int, int]) -> None:
            begin, end = part
            into = found.data[place : place + end - begin]
            aligned = not (begin % _ALIGNED or place % _ALIGNED or len(into) % _ALIGNED)
            if aligned or not self._direct:
                self._fill(into, begin)
            else:
                into[:] = self._around(begin, end)

        for _ in _THREADS.map(read, places, parts):
            pass
        return found

    def _array(self, size: int) -> np.ndarray:
        memory = self._free.pop() if self._free else _memory(size)
        if len(memory) < size:
            memory = _memory(size)
        found = np.frombuffer(memory, np.uint8)
        weakref.finalize(found, self._free.append, memory)
        return found[:size]

    def _around(self, begin: int, end: int) -> memoryview:
        """A part's bytes, of the aligned ones around them."""
        first = begin // _ALIGNED * _ALIGNED
        size = -(-(end - first) // _ALIGNED) * _ALIGNED
        memory = getattr(_OF_THREAD, "memory", None)
        if memory is None or len(memory) < size:
            memory = _OF_THREAD.memory = _memory(size)
        self._fill(memoryview(memory)[:size], first, end - first)
        return memoryview(memory)[begin - first : end - first]

    def _fill(self, into: memoryview, begin: int, needed: int | None = None) -> None:
        """Read from `begin`, at least the first bytes that are needed; None: all."""
        done = 0
        while done < (len(into) if needed is None else needed):
            count = os.preadv(self._number, [into[done:]], begin + done)
            if not count:
                raise OSError(f"a file of kept examples ends at {begin + done} bytes")
            done += count
        COUNT.add(done)


def _memory(size: int) -> mmap.mmap:
    """Memory that begins at a page, in huge pages where the system has them."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = mmap.mmap(-1, max(1, size), flags=flags)
    memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
