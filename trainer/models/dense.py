"""A multilayer perceptron, the simplest model."""

import keras
from keras import layers

from trainer.dataset_description import DatasetDescription
from trainer.hyperparameters import Hyperparameters
from trainer.models import inputs


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    if dataset.kind == "image":
        taken, x = inputs.image(dataset)
        x = layers.Flatten()(x)
    else:
        row = inputs.table(dataset, h.embedding)
        taken, x = row.inputs, inputs.joined([*row.flat, *row.summaries()])
    return keras.Model(taken, head(x, dataset.outputs, h), name="dense")


def head(x: keras.KerasTensor, outputs: int, h: Hyperparameters) -> keras.KerasTensor:
    """Hidden layers and the output, (b, outputs)."""
    for _ in range(h.layers):
        x = layers.Dense(h.units, activation="relu")(x)
        x = layers.Dropout(h.dropout)(x)
    return layers.Dense(outputs, name="output")(x)
