"""A multilayer perceptron, the simplest model."""

import keras
from keras import layers

from trainer.models import inputs
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Hyperparameters


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    taken, x = flat(dataset, h)
    return keras.Model(taken, head(x, dataset.outputs, h), name="dense")


def flat(
    dataset: DatasetDescription, h: Hyperparameters
) -> tuple[dict[str, keras.KerasTensor], keras.KerasTensor]:
    """The model's inputs, and all pixels and all features as (b, any)."""
    row = inputs.table(dataset, h.embedding)
    pixels = [layers.Flatten()(image) for image in row.images.values()]
    return row.inputs, inputs.joined([*row.flat, *row.summaries(), *pixels])


def head(x: keras.KerasTensor, outputs: int, h: Hyperparameters) -> keras.KerasTensor:
    """Hidden layers and the output, (b, outputs)."""
    for _ in range(h.layers):
        x = layers.Dense(h.units, activation="relu")(x)
        x = layers.Dropout(h.dropout)(x)
    return layers.Dense(outputs, name="output", dtype=inputs.FLOAT)(x)
