"""Wide and deep learning (https://arxiv.org/abs/1606.07792): a linear model plus the dense one.

The wide part remembers single combinations, the deep part generalizes. Wide are a linear layer over
all features and, for every two categorical features, a weight for their values together: NULL and
unknown terms count as values. Two combinations may share a weight (the hashing trick,
https://arxiv.org/abs/0902.2206). Both parts have one optimizer here, where the paper has two.
"""

import itertools

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from trainer.models import ModelError, inputs
from trainer.models.dense import head
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import CATEGORICAL
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.models import MODELS

# Constants of MurmurHash3's finalizer (https://github.com/aappleby/smhasher), as signed numbers.
_MIX = (np.int64(-0xAE502812AA7333), np.int64(-0x3B314601E57A13AD))


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    row = inputs.table(dataset, h.embedding)
    x = inputs.joined([*row.flat, *row.summaries()])
    # Zeros, as a linear model begins: random weights would have to be unlearned first.
    zeros = {"kernel_initializer": "zeros", "dtype": inputs.FLOAT}
    wide = layers.Dense(dataset.outputs, name="wide", **zeros)(x)
    parts = [wide, head(x, dataset.outputs, h)]
    terms = dataset.features_of(CATEGORICAL)
    if h.cross_buckets and len(terms) > 1:
        pairs = len(terms) * (len(terms) - 1) // 2
        most = MODELS["wide_and_deep"].most["pairs"]
        if pairs > most:
            raise ModelError(
                f"{len(terms)} categorical features make {pairs:,} pairs, more than {most:,}:"
                " use cross_buckets=0, or fewer features"
            )
        crosses = Crosses(len(terms), h.cross_buckets, dataset.outputs)
        parts.append(crosses(row.inputs[CATEGORICAL]))
    return keras.Model(row.inputs, layers.Add(dtype=inputs.FLOAT)(parts), name="wide_and_deep")


class Crosses(layers.Layer):
    """(b, c) int64 ids of terms -> (b, outputs), the sum of c (c - 1) / 2 weights for each.

    Each pair of columns has `buckets` weights of its own for each output.
    """

    def __init__(self, columns: int, buckets: int, outputs: int):
        super().__init__(dtype=inputs.FLOAT)
        pairs = np.array(list(itertools.combinations(range(columns), 2)))
        self._left, self._right = pairs.T
        self._buckets = buckets
        self._first = np.arange(len(pairs)) * buckets
        # Zeros: a combination that never occurs in training has no effect.
        self._weights = self.add_weight(
            shape=(len(pairs) * buckets, outputs), initializer="zeros", name="embeddings"
        )

    def call(self, ids):
        return tf.reduce_sum(tf.gather(self._weights, self.places(ids)), 1)

    def places(self, ids: tf.Tensor) -> tf.Tensor:
        """(b, c (c - 1) / 2) int64, the rows of the table of weights."""
        left, right = (tf.gather(ids, side, axis=1) for side in (self._left, self._right))
        return self._first + _mixed(left * 2**32 + right) % self._buckets


def _mixed(x: tf.Tensor) -> tf.Tensor:
    """int64 -> int64, every bit of the result dependent on every one of x."""
    for factor in _MIX:
        x = tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, 33)) * factor
    return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, 33))
