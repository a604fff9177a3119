"""The columns of examples that are kept: numbers in files that are mapped into memory, and strings.

`append` takes a batch's values, `close` ends that; then `tensor` gives the whole, as a reference.
"""

import mmap
import os
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
import tensorflow as tf

_READ_BYTES = 128 << 10
"""Bytes of one request to read ahead: as many as Linux reads of a file by default
(VM_READAHEAD_PAGES in its include/linux/mm.h), as it ignores what is beyond.
"""

Open = Callable[[], BinaryIO]


def _shared(value: tf.Tensor) -> tf.Variable:
    """A variable that has the value's own memory. tf.data copies every other tensor that a
    dataset's function captures.
    """
    with tf.device("/CPU:0"):  # a GPU's memory is for the model
        return tf.Variable(value, trainable=False)


class Numbers:
    """Numbers of one type and shape."""

    def __init__(self, file: Open, first: tf.Tensor):
        self._file = file()
        self._type, self._shape = first.dtype.as_numpy_dtype, first.shape[1:]
        self._row = int(np.prod(self._shape, dtype=int)) * first.dtype.size
        self._map: mmap.mmap | None = None

    def append(self, part: tf.Tensor) -> None:
        values = np.ascontiguousarray(part.numpy())
        if values.size:
            self._file.write(values.data)

    def close(self) -> None:
        self._file.flush()
        if os.fstat(self._file.fileno()).st_size:
            self._map = mmap.mmap(self._file.fileno(), 0)
            mapped = np.frombuffer(self._map, self._type).reshape(-1, *self._shape)
            self._all = _shared(tf.experimental.dlpack.from_dlpack(mapped.__dlpack__()))
        else:
            self._all = _shared(tf.zeros((0, *self._shape), self._type))

    def tensor(self) -> tf.Tensor:
        return self._all.read_value()

    def size(self, first: int, end: int) -> int:
        """Bytes of the rows from first to end."""
        return (end - first) * self._row

    def read_ahead(self, first: int, end: int) -> None:
        """Have the system read these rows into memory, without waiting for them."""
        if self._map is None:
            return
        self._map.madvise(mmap.MADV_RANDOM)  # a fault reads no neighbours: they were asked for
        for begin in range(first * self._row, end * self._row, _READ_BYTES):
            size = min(_READ_BYTES, end * self._row - begin)
            os.posix_fadvise(self._file.fileno(), begin, size, os.POSIX_FADV_WILLNEED)

    def let_go(self, first: int, end: int) -> None:
        """Map these rows no longer, so that the system can use their memory at once."""
        begin = first * self._row // mmap.PAGESIZE * mmap.PAGESIZE
        if self._map is not None and (size := end * self._row - begin):
            self._map.madvise(mmap.MADV_DONTNEED, begin, size)


class Ragged:
    """Numbers of which each example has as many as it likes."""

    def __init__(self, file: Open, first: tf.RaggedTensor):
        self._values = Numbers(file, first.values)
        self._lengths: list[tf.Tensor] = []

    def append(self, part: tf.RaggedTensor) -> None:
        self._values.append(part.values)
        self._lengths.append(part.row_lengths())

    def close(self) -> None:
        self._values.close()
        ends = tf.cumsum(tf.cast(tf.concat(self._lengths, 0), tf.int64))
        splits = tf.concat([tf.zeros([1], tf.int64), ends], 0)
        self._lengths.clear()
        self._places, self._splits = splits.numpy(), _shared(splits)

    def tensor(self) -> tf.RaggedTensor:
        splits = self._splits.read_value()
        return tf.RaggedTensor.from_row_splits(self._values.tensor(), splits, validate=False)

    def size(self, first: int, end: int) -> int:
        return self._values.size(*self._of_values(first, end))

    def read_ahead(self, first: int, end: int) -> None:
        self._values.read_ahead(*self._of_values(first, end))

    def let_go(self, first: int, end: int) -> None:
        self._values.let_go(*self._of_values(first, end))

    def _of_values(self, first: int, end: int) -> tuple[int, int]:
        return int(self._places[first]), int(self._places[end])


class Text:
    """Strings, which stay where TensorFlow has them."""

    def __init__(self) -> None:
        self._parts: list[tf.Tensor] = []

    def append(self, part: tf.Tensor) -> None:
        self._parts.append(part)

    def close(self) -> None:
        self._all = _shared(tf.concat(self._parts, 0))
        self._parts.clear()

    def tensor(self) -> tf.Tensor:
        return self._all.read_value()

    def size(self, first: int, end: int) -> int:
        return 0

    def read_ahead(self, first: int, end: int) -> None:
        pass

    def let_go(self, first: int, end: int) -> None:
        pass


Column = Numbers | Ragged | Text


def column(part: Any, file: Open) -> Column:
    """A column for values like `part`, empty. file: opens a file for them."""
    if isinstance(part, tf.RaggedTensor):
        return Ragged(file, part)
    return Text() if part.dtype == tf.string else Numbers(file, part)
