"""The columns of examples that are kept: numbers in files, in memory or on disk, and strings.

`append` takes a batch's values, `close` ends that. Of files in memory, `tensor` then gives the
whole, as a reference; of files on disk, `read` gives some examples at a time, as NumPy has them,
and `window` makes a tensor of them.
"""

import mmap
import os
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import numpy as np
import tensorflow as tf

from trainer.training.direct_reads import Reader

Open = Callable[[], BinaryIO]

Runs = Sequence[tuple[int, int]]
"""Examples, by the first and the end of each run of neighbours."""


def _shared(value: tf.Tensor) -> tf.Variable:
    """A variable that has the value's own memory. tf.data copies every other tensor that a
    dataset's function captures.
    """
    with tf.device("/CPU:0"):  # a GPU's memory is for the model
        return tf.Variable(value, trainable=False)


class Numbers:
    """Numbers of one type and shape. on_disk: they are read, else mapped into memory."""

    def __init__(self, file: Open, on_disk: bool, first: tf.Tensor):
        self._file, self._on_disk = file(), on_disk
        self.type, self._shape = first.dtype, first.shape[1:]
        self._row = int(np.prod(self._shape, dtype=int)) * first.dtype.size

    def append(self, part: tf.Tensor) -> None:
        values = np.ascontiguousarray(part.numpy())
        if values.size:
            self._file.write(values.data)

    def close(self) -> None:
        self._file.flush()
        if self._on_disk:
            self._reader = Reader(self._file, self._row)
        elif os.fstat(self._file.fileno()).st_size:
            mapped = mmap.mmap(self._file.fileno(), 0)
            values = np.frombuffer(mapped, self.type.as_numpy_dtype).reshape(-1, *self._shape)
            self._all = _shared(tf.experimental.dlpack.from_dlpack(values.__dlpack__()))
        else:
            self._all = _shared(tf.zeros((0, *self._shape), self.type))

    def tensor(self) -> tf.Tensor:
        return self._all.read_value()

    def size(self, first: int, end: int) -> int:
        """Bytes of the rows from first to end."""
        return (end - first) * self._row

    def read(self, runs: Runs) -> np.ndarray:
        """The rows of these runs, one after the other. Raises OSError."""
        found = self._reader.read([(first * self._row, end * self._row) for first, end in runs])
        return found.view(self.type.as_numpy_dtype).reshape(-1, *self._shape)

    def window(self, places: tf.Tensor, found: tf.Tensor) -> tf.Tensor:
        """What `read` found of these examples (n,), in their order."""
        return tf.ensure_shape(found, [None, *self._shape])


class Ragged:
    """Numbers of which each example has as many as it likes."""

    def __init__(self, file: Open, on_disk: bool, first: tf.RaggedTensor):
        self._values = Numbers(file, on_disk, first.values)
        self.type = self._values.type
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
        return self._values.size(int(self._places[first]), int(self._places[end]))

    def read(self, runs: Runs) -> np.ndarray:
        of_values = [(int(self._places[first]), int(self._places[end])) for first, end in runs]
        return self._values.read(of_values)

    def window(self, places: tf.Tensor, found: tf.Tensor) -> tf.RaggedTensor:
        splits = self._splits.read_value()
        lengths = tf.gather(splits, places + 1) - tf.gather(splits, places)
        values = self._values.window(places, found)
        return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)


class Text:
    """Strings, which stay where TensorFlow has them."""

    type = tf.uint8

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

    def read(self, runs: Runs) -> np.ndarray:
        """Nothing: they are in memory."""
        return np.zeros(0, np.uint8)

    def window(self, places: tf.Tensor, found: tf.Tensor) -> tf.Tensor:
        return tf.gather(self._all, places)


Column = Numbers | Ragged | Text


def column(part: Any, file: Open, on_disk: bool) -> Column:
    """A column for values like `part`, empty. file: opens a file for them."""
    if isinstance(part, tf.RaggedTensor):
        return Ragged(file, on_disk, part)
    return Text() if part.dtype == tf.string else Numbers(file, on_disk, part)
