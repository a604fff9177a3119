"""Dense layers with residual connections and layer normalization.

Another line.
"""

import keras
import tensorflow as tf
from keras import layers

from trainer.models import inputs

HYPERPARAMETERS = {
    "width": {"default": 32, "minimum": 8, "maximum": 512, "description": "units of each block"},
    "depth": {"default": 2, "minimum": 1, "maximum": 20, "description": "residual blocks"},
    "activation": {
        "default": "gelu",
        "enum": ["gelu", "relu"],
        "description": "of the first layer of a block",
    },
    "focus": {
        "default": 1.0,
        "minimum": 0.0,
        "maximum": 5.0,
        "description": "exponent of the focal loss (https://arxiv.org/abs/1708.02002)",
    },
}


@keras.saving.register_keras_serializable("residual")
class Scale(layers.Layer):
    """A layer of its own, which no server knows."""

    def build(self, shape):
        self.factor = self.add_weight(shape=(shape[-1],), initializer="ones", name="gamma")

    def call(self, x):
        return x * self.factor


def build(dataset, hyperparameters):
    if dataset.inputs == {"image"}:
        taken, x = inputs.image(dataset)
        x = layers.Flatten()(x)
    else:
        row = inputs.table(dataset, embedding=4)
        taken, x = row.inputs, inputs.joined([*row.flat, *row.summaries()])
    x = layers.Dense(hyperparameters.width)(x)
    for _ in range(hyperparameters.depth):
        y = layers.LayerNormalization()(x)
        y = layers.Dense(hyperparameters.width, activation=hyperparameters.activation)(y)
        x = x + Scale()(layers.Dense(hyperparameters.width)(y))
    return keras.Model(taken, layers.Dense(dataset.outputs)(x))


def loss(labels, outputs, hyperparameters):
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
    return entropy * (1 - tf.exp(-entropy)) ** hyperparameters.focus
