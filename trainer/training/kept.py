"""Keeps a worker's decoded examples for all epochs: in memory or, where they do not fit, on disk.

Either way the examples lie in unnamed files that are mapped into memory, and TensorFlow gathers
batches from them without a copy. Files in memory (memfd_create) belong to no folder and have no
limit but the machine's; files on disk are read through the page cache, which holds as much of them
as memory allows. Both are gone when the process ends, however it ends.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import tensorflow as tf

from trellis_contracts import decoded

_CONTROL_GROUPS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
)
"""Files of a container's memory below /sys/fs/cgroup, of versions 2 and 1, and the entry of
memory.stat that counts what it can drop: https://docs.kernel.org/admin-guide/cgroup-v2.html
"""


def free_memory(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes that this process can still take: what the machine has available, and its container."""
    lines = (line.split() for line in (proc / "meminfo").read_text().splitlines())
    free = next(int(words[1]) << 10 for words in lines if words[0] == "MemAvailable:")
    for limit, used, droppable in _CONTROL_GROUPS:
        if not (groups / limit).exists() or (most := (groups / limit).read_text().strip()) == "max":
            continue
        statistics = (groups / limit).with_name("memory.stat").read_text().splitlines()
        dropped = dict(line.split() for line in statistics).get(droppable, 0)
        free = min(free, int(most) - int((groups / used).read_text()) + int(dropped))
    return max(0, free)


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
    file: Callable[[], BinaryIO]


MEMORY = Place(decoded.MEMORY, lambda: os.fdopen(os.memfd_create("examples"), "w+b"))
DISK = Place(decoded.DISK, lambda: tempfile.TemporaryFile(dir=folder()))  # noqa: SIM115


@dataclass(frozen=True)
class Kept:
    """Examples that are kept. gather: a function from their indices (b,) to a batch of them."""

    rows: int
    gather: Callable[[tf.Tensor], Any]


def places(size: int) -> list[Place]:
    """Where `size` bytes fit, the faster first."""
    fits = decoded.places(size, free_memory(), free_disk())
    return [place for place in (MEMORY, DISK) if place.name in fits]


def keep(batches: Iterable[Any], place: Place) -> Kept:
    """Keep all examples of batches: nested tensors, ragged ones among them, whose first axis are
    the examples. Raises OSError if the place is full.
    """
    structure: Any = None
    columns: list[_Column] = []
    for batch in batches:
        parts = tf.nest.flatten(batch)
        if structure is None:
            structure, columns = batch, [_column(part, place) for part in parts]
        for column, part in zip(columns, parts, strict=True):
            column.append(part)
    if structure is None:
        return Kept(0, lambda places: None)
    with tf.device("/CPU:0"):  # a GPU's memory is for the model
        whole = [column.whole() for column in columns]

    def gather(places: tf.Tensor) -> Any:
        return tf.nest.pack_sequence_as(structure, [tf.gather(each, places) for each in whole])

    return Kept(int(whole[-1].shape[0]), gather)


class _Numbers:
    """Numbers of one type and shape."""

    def __init__(self, place: Place, first: tf.Tensor):
        self._file = place.file()
        self._type, self._shape = first.dtype.as_numpy_dtype, first.shape[1:]

    def append(self, part: tf.Tensor) -> None:
        values = np.ascontiguousarray(part.numpy())
        if values.size:
            self._file.write(values.data)

    def whole(self) -> tf.Tensor:
        self._file.flush()
        if not os.fstat(self._file.fileno()).st_size:
            return tf.zeros((0, *self._shape), self._type)
        flat = np.memmap(self._file, self._type, "r+")
        mapped = flat.reshape(-1, *self._shape)
        return tf.experimental.dlpack.from_dlpack(mapped.__dlpack__())


class _Ragged:
    """Numbers of which each example has as many as it likes."""

    def __init__(self, place: Place, first: tf.RaggedTensor):
        self._values = _Numbers(place, first.values)
        self._lengths: list[tf.Tensor] = []

    def append(self, part: tf.RaggedTensor) -> None:
        self._values.append(part.values)
        self._lengths.append(part.row_lengths())

    def whole(self) -> tf.RaggedTensor:
        lengths = tf.concat(self._lengths, 0)
        return tf.RaggedTensor.from_row_lengths(self._values.whole(), lengths, validate=False)


class _Text:
    """Strings, which stay where TensorFlow has them."""

    def __init__(self) -> None:
        self._parts: list[tf.Tensor] = []

    def append(self, part: tf.Tensor) -> None:
        self._parts.append(part)

    def whole(self) -> tf.Tensor:
        return tf.concat(self._parts, 0)


_Column = _Numbers | _Ragged | _Text


def _column(part: Any, place: Place) -> _Column:
    if isinstance(part, tf.RaggedTensor):
        return _Ragged(place, part)
    return _Text() if part.dtype == tf.string else _Numbers(place, part)
