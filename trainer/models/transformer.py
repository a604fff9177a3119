"""A transformer's encoder (https://arxiv.org/abs/1706.03762) for the sequences of a row.

Each sequence feature has its own encoder, unless `series` is together. A step is its value and its
place, as in the paper waves of several lengths, so that no place is unknown at first. The mean over
the steps is concatenated with the row's other features, and followed by the layers of the dense
model.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from trainer.models import ModelError, attention, inputs
from trainer.models.dense import head
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.models import MODELS

_LONGEST_WAVE = 10_000.0


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    row = inputs.table(dataset, h.embedding)
    series = row.series(h.series == "together")
    most = MODELS["transformer"].most["steps"]
    if (longest := max(steps.limit for steps in series)) > most:
        raise ModelError(
            f"the longest sequence has {longest:,} elements, and transformer, which compares all "
            f"with all, takes up to {most:,}: use the recurrent model, or shorten the "
            "sequences in the query"
        )
    x = inputs.joined([*row.flat, *(_mean(steps, h) for steps in series)])
    return keras.Model(row.inputs, head(x, dataset.outputs, h), name="transformer")


def _mean(steps: inputs.Steps, h: Hyperparameters) -> keras.KerasTensor:
    """(b, width): 0 without elements."""
    x = layers.Dense(attention.width(h))(steps.values)
    x = Places(steps.limit, attention.width(h))(x, steps.mask)
    x = attention.encoded(x, h, steps.mask)
    return Mean(dtype=inputs.FLOAT)(x, steps.mask)


class Places(layers.Layer):
    """Steps (b, any, width) and their mask -> the same with their places added.

    A place is the number of elements before it: padding, and NULL within a sequence, do not count.
    """

    def __init__(self, limit: int, width: int):
        super().__init__()
        wave = np.arange(width) // 2 * 2 / width
        angles = np.arange(limit)[:, np.newaxis] / _LONGEST_WAVE**wave
        even = np.arange(width) % 2 == 0
        self._waves = np.where(even, np.sin(angles), np.cos(angles)).astype(np.float32)

    def call(self, steps, mask):
        places = tf.cumsum(tf.cast(mask, tf.int32), axis=1, exclusive=True)
        return steps + tf.cast(tf.gather(self._waves, places), steps.dtype)


class Mean(layers.Layer):
    """(b, any, width) -> (b, width), over the steps of the mask; 0 without any."""

    def call(self, steps, mask):
        present = tf.cast(mask, tf.float32)
        count = tf.maximum(tf.reduce_sum(present, 1, keepdims=True), 1.0)
        return tf.einsum("bsw,bs->bw", steps, present / count)
