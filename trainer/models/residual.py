"""Residual blocks of fully connected layers (https://arxiv.org/abs/2106.11959, section 3.2).

The paper's ResNet for tables with layer in place of batch normalization, so that workers need not
synchronize: each block is x + dense(dropout(relu(dense(normalized(x))))).
"""

import keras
from keras import layers

from trainer.models import dense, inputs
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Hyperparameters


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    taken, x = dense.flat(dataset, h)
    x = layers.Dense(h.units)(x)
    for _ in range(h.layers):
        y = layers.LayerNormalization()(x)
        y = layers.Dense(h.units, activation="relu")(y)
        y = layers.Dropout(h.dropout)(y)
        x = layers.Add()([x, layers.Dense(h.units)(y)])
    x = layers.ReLU()(layers.LayerNormalization()(x))
    output = layers.Dense(dataset.outputs, name="output", dtype=inputs.FLOAT)(x)
    return keras.Model(taken, output, name="residual")
