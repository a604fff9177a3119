"""Linear layers of which the largest output counts (https://arxiv.org/abs/1302.4389)."""

import keras
from keras import layers

from trainer.models import inputs
from trainer.models.dense import flat
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Hyperparameters


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    taken, x = flat(dataset, h)
    x = layers.Maximum()([layers.Dense(8)(x) for _ in range(max(2, h.pieces))])
    output = layers.Dense(dataset.outputs, name="output", dtype=inputs.FLOAT)(x)
    return keras.Model(taken, output, name="maxout")
