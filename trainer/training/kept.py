"""Keeps a worker's decoded examples for all epochs: in memory or, where they do not fit, on disk.

Either way the examples lie in unnamed files (trainer.training.columns). Files in memory
(memfd_create) belong to no folder and have no limit but the machine's; they are mapped, and
TensorFlow gathers batches from them without a copy. Files on disk are read in windows, ahead of
their batches (trainer.training.windows). Both are gone when the process ends, however it ends.
"""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from trainer.training.columns import Column, Open, column
from trellis_contracts import decoded

_CONTROL_GROUPS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Files of a control group, of versions 2 and 1: what it may take, what it has, and the entry of
memory.stat that counts what it can drop: https://docs.kernel.org/admin-guide/cgroup-v2.html
"""

_WINDOWS = 3
"""Windows that are read ahead at most."""


def free_memory(proc: Path = Path("/proc"), mount: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes that this process can still take: what the machine has available, and every control
    group that it is in (a container, a job of Slurm, a unit of systemd).
    """
    lines = (line.split() for line in (proc / "meminfo").read_text().splitlines())
    free = next(int(words[1]) << 10 for words in lines if words[0] == "MemAvailable:")
    for group in _groups(proc, mount):
        for limit, used, droppable in _CONTROL_GROUPS:
            file = group / limit
            if not file.exists() or (most := file.read_text().strip()) == "max":
                continue
            statistics = (group / "memory.stat").read_text().splitlines()
            dropped = dict(line.split() for line in statistics).get(droppable, 0)
            free = min(free, int(most) - int((group / used).read_text()) + int(dropped))
    return max(0, free)


def _groups(proc: Path, mount: Path) -> Iterator[Path]:
    """Folders of the control groups of memory that this process is in, the innermost first."""
    for line in (proc / "self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = mount / "memory" if controllers else mount
        own = root / path.lstrip("/")
        yield from (group for group in (own, *own.parents) if group.is_relative_to(root))


def folder() -> str:
    """The folder of files on disk: TMPDIR, or /var/tmp, since /tmp may itself be memory."""
    default = "/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir()
    return os.environ.get("TMPDIR", default)


def free_disk() -> int:
    """Bytes that are free for files on disk."""
    return shutil.disk_usage(folder()).free


@dataclass(frozen=True)
class Place:
    """Memory or disk: `file` opens an unnamed file there."""

    name: str
    file: Open

    @property
    def on_disk(self) -> bool:
        return self.name == decoded.DISK


MEMORY = Place(decoded.MEMORY, lambda: os.fdopen(os.memfd_create("examples"), "w+b"))
DISK = Place(decoded.DISK, lambda: tempfile.TemporaryFile(dir=folder()))  # noqa: SIM115


class Kept:
    """Examples that are kept. rows: their number. row_bytes: the mean size of one.

    on_disk: whether they are to be read, window by window; else all are tensors.
    """

    def __init__(self, structure: Any, columns: list[Column], rows: int, on_disk: bool):
        self._structure, self._columns = structure, columns
        self.rows, self.on_disk = rows, on_disk
        size = sum(one.size(0, rows) for one in columns)
        self.row_bytes = max(1, size // max(1, rows))
        self._ahead: dict[bytes, Future[list[np.ndarray]]] = {}
        self._thread, self._lock = ThreadPoolExecutor(1, "read ahead"), threading.Lock()

    def tensors(self) -> list[tf.Tensor]:
        """All examples in memory, for `gather`.

        To be called where a dataset is made, once for its many batches: of functions that read
        variables, tf.data calls one after the other.
        """
        return [one.tensor() for one in self._columns]

    def gather(self, tensors: list[tf.Tensor], places: tf.Tensor) -> Any:
        """The examples of these indices (b,) of tensors, as a batch."""
        found = [tf.gather(each, places) for each in tensors]
        return tf.nest.pack_sequence_as(self._structure, found)

    def read_ahead(self, places: np.ndarray) -> None:
        """Begin to read these examples (n,), a window, which lie in runs of neighbours."""
        with self._lock:
            if (key := places.tobytes()) in self._ahead:
                return
            if len(self._ahead) >= _WINDOWS:  # of batches that nobody took
                self._ahead.pop(next(iter(self._ahead))).cancel()
            self._ahead[key] = self._thread.submit(self._read, places)

    def window(self, places: tf.Tensor) -> list[tf.Tensor]:
        """These examples (n,) on disk, for `gather`; waits until they are read."""

        def read(places: np.ndarray) -> list[np.ndarray]:
            with self._lock:
                ahead = self._ahead.pop(places.tobytes(), None)
            return (ahead or self._thread.submit(self._read, places)).result()

        types = [one.type for one in self._columns]
        found = tf.numpy_function(read, [places], types, stateful=False)
        pairs = zip(self._columns, found, strict=True)
        return [one.window(places, part) for one, part in pairs]

    def _read(self, places: np.ndarray) -> list[np.ndarray]:
        ends = np.flatnonzero(np.diff(places) != 1)
        firsts, lasts = places[np.r_[0, ends + 1]], places[np.r_[ends, len(places) - 1]]
        runs = list(zip(firsts.tolist(), (lasts + 1).tolist(), strict=True))
        return [one.read(runs) for one in self._columns]


def places(size: int) -> list[Place]:
    """Where `size` bytes fit, the faster first."""
    fits = decoded.places(size, free_memory(), free_disk())
    return [place for place in (MEMORY, DISK) if place.name in fits]


def keep(batches: Iterable[Any], place: Place) -> Kept:
    """Keep all examples of batches: nested tensors, ragged ones among them, whose first axis are
    the examples. Raises OSError if the place is full.
    """
    structure: Any = None
    columns: list[Column] = []
    rows = 0
    for batch in batches:
        parts = tf.nest.flatten(batch)
        if structure is None:
            structure = batch
            columns = [column(part, place.file, place.on_disk) for part in parts]
        for one, part in zip(columns, parts, strict=True):
            one.append(part)
        rows += int(parts[-1].shape[0])
    for one in columns:
        one.close()
    return Kept(structure, columns, rows, place.on_disk)
