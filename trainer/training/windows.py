"""The order of examples that are kept on disk: shuffled in windows that are read ahead.

A disk gives single examples at random a hundred times as slowly as it gives a file. So neighbours
are a block, which is read as a whole. Each epoch takes the blocks in another order, a window of
them at a time, whose examples are shuffled while the next window is read.
"""

import numpy as np
import tensorflow as tf

from trainer.training.kept import Kept
from trainer.training.records import do_not_convert

BLOCK_BYTES = 1 << 20
"""Here a disk gave 1.8 GB/s at random in reads of so many bytes, and 1.5 of a file in order."""

WINDOW_BYTES = 64 << 20


def places(
    own: Kept, seeds: tf.Tensor, following: tf.Tensor, size: int, first: tf.Tensor, count: int
) -> tf.data.Dataset:
    """(index, indices (size,) of examples) of an epoch's batches from `first` to `count`.

    A pure function of the seeds (2,), own.rows and own.row_bytes. following: the next epoch's
    seeds, whose first window is read during the last.
    """
    batches = max(1, WINDOW_BYTES // (size * own.row_bytes))
    windows = -(-count // batches)
    order = _by_blocks(own, seeds)

    def read(examples: np.ndarray) -> np.ndarray:
        own.read_ahead(examples)
        return examples

    def ahead(examples: tf.Tensor) -> tf.Tensor:
        # Of functions with a state, a deterministic training takes one after the other.
        return tf.numpy_function(read, [examples], tf.int64, stateful=False)

    def last() -> tf.Tensor:
        return tf.size(ahead(_by_blocks(own, following)[: batches * size]))

    @do_not_convert
    def shuffled(window: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        end = tf.minimum((window + 1) * batches, count)
        examples = ahead(order[window * batches * size : end * size])
        with tf.control_dependencies([examples]):
            following_read = tf.cond(window < windows - 1, lambda: 0, last)
        with tf.control_dependencies([following_read]):
            own_seeds = tf.random.fold_in(seeds, window)
        return window * batches, tf.random.experimental.stateless_shuffle(examples, own_seeds)

    @do_not_convert
    def in_batches(begin: tf.Tensor, examples: tf.Tensor) -> tf.data.Dataset:
        end = begin + tf.size(examples, tf.int64) // size
        indices = tf.data.Dataset.range(tf.maximum(begin, first), end)
        return indices.map(
            do_not_convert(lambda index: (index, examples[(index - begin) * size :][:size]))
        )

    # One at a time, and ahead of its batches. Without a number, tf.data may choose any.
    found = tf.data.Dataset.range(first // batches, windows).map(shuffled, num_parallel_calls=1)
    return found.flat_map(in_batches)


def _by_blocks(own: Kept, seeds: tf.Tensor) -> tf.Tensor:
    """Indices of all examples, by blocks in the order of these seeds."""
    size = max(1, BLOCK_BYTES // own.row_bytes)
    blocks = tf.range(-(-own.rows // size), dtype=tf.int64)
    blocks = tf.random.experimental.stateless_shuffle(blocks, seeds)
    found = tf.reshape(blocks[:, tf.newaxis] * size + tf.range(size, dtype=tf.int64), [-1])
    return tf.boolean_mask(found, found < own.rows)
