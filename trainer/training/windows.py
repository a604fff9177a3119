"""The order of examples that are kept on disk: shuffled in windows that are read ahead.

A disk gives single examples at random a hundred times as slowly as it gives a file. So neighbours
are a block, which is read as a whole. Each epoch takes the blocks in another order, a window of
them at a time, whose examples are shuffled while the next window is read.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from trainer.training.kept import Kept
from trainer.training.records import do_not_convert

BLOCK_BYTES = 1 << 20
"""Here a disk gave 1.8 GB/s at random in reads of so many bytes, and 1.5 of a file in order."""

WINDOW_BYTES = 64 << 20


def shuffled(
    own: Kept, seeds: tf.Tensor, following: tf.Tensor, size: int, first: tf.Tensor, count: int
) -> tf.data.Dataset:
    """(index, examples (size, ...)) of an epoch's batches from `first` to `count`.

    The order is a pure function of the seeds (2,), own.rows and own.row_bytes. following: the next
    epoch's seeds, whose first window is read during the last.
    """

    def mixed(window: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        own_seeds = tf.random.fold_in(seeds, window)
        return tf.random.experimental.stateless_shuffle(places, own_seeds)

    order = _by_blocks(own, seeds)
    return _batches(own, order, lambda: _by_blocks(own, following), mixed, size, first, count)


def in_order(own: Kept, places: tf.Tensor, size: int) -> tf.data.Dataset:
    """(index, examples (size, ...)) of the batches of these places (a multiple of size,)."""
    first, count = tf.constant(0, tf.int64), places.shape[0] // size
    return _batches(own, places, lambda: places, lambda _, same: same, size, first, count)


def _batches(
    own: Kept,
    order: tf.Tensor,
    following: Callable[[], tf.Tensor],
    mixed: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
    size: int,
    first: tf.Tensor,
    count: int,
) -> tf.data.Dataset:
    """Batches of windows of places. mixed: a window's number and places in it, in their order."""
    batches = max(1, WINDOW_BYTES // (size * own.row_bytes))
    windows = -(-count // batches)

    def read(examples: np.ndarray) -> np.ndarray:
        own.read_ahead(examples)
        return examples

    def ahead(examples: tf.Tensor) -> tf.Tensor:
        # Of functions with a state, a deterministic training takes one after the other.
        return tf.numpy_function(read, [examples], tf.int64, stateful=False)

    def last() -> tf.Tensor:
        return tf.size(ahead(following()[: min(count, batches) * size]))

    @do_not_convert
    def begun(window: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        end = tf.minimum((window + 1) * batches, count)
        examples = ahead(order[window * batches * size : end * size])
        with tf.control_dependencies([examples]):
            following_read = tf.cond(window < windows - 1, lambda: 0, last)
        with tf.control_dependencies([following_read]):
            return window, tf.ensure_shape(examples, [None])

    @do_not_convert
    def in_batches(window: tf.Tensor, examples: tf.Tensor) -> tf.data.Dataset:
        begin, found = window * batches, own.window(examples)
        places = mixed(window, tf.range(tf.size(examples, tf.int64)))

        def batch(index: tf.Tensor) -> tuple[tf.Tensor, Any]:
            own_places = places[(index - begin) * size :][:size]
            return index, own.gather(found, tf.ensure_shape(own_places, [size]))

        end = begin + tf.size(examples, tf.int64) // size
        return tf.data.Dataset.range(tf.maximum(begin, first), end).map(do_not_convert(batch))

    # One at a time, and ahead of its batches. Without a number, tf.data may choose any.
    found = tf.data.Dataset.range(first // batches, windows).map(begun, num_parallel_calls=1)
    return found.flat_map(in_batches)


def _by_blocks(own: Kept, seeds: tf.Tensor) -> tf.Tensor:
    """Indices of all examples, by blocks in the order of these seeds."""
    size = max(1, BLOCK_BYTES // own.row_bytes)
    blocks = tf.range(-(-own.rows // size), dtype=tf.int64)
    blocks = tf.random.experimental.stateless_shuffle(blocks, seeds)
    found = tf.reshape(blocks[:, tf.newaxis] * size + tf.range(size, dtype=tf.int64), [-1])
    return tf.boolean_mask(found, found < own.rows)
