"""A multilayer perceptron, the simplest model."""

import keras
from keras import layers

from trainer.dataset_description import DatasetDescription
from trainer.hyperparameters import Hyperparameters
from trainer.models import inputs


def build(dataset: DatasetDescription, outputs: int, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    if dataset.kind == "image":
        taken, x = inputs.image(dataset)
        x = layers.Flatten()(x)
    else:
        row = inputs.table(dataset, h.embedding)
        summaries = [inputs.Summary(s.limit)(s.values, s.mask) for s in row.sequences]
        taken, x = row.inputs, joined([*row.flat, *summaries])
    return keras.Model(taken, head(x, outputs, h), name="dense")


def joined(parts: list[keras.KerasTensor]) -> keras.KerasTensor:
    """Tensors (b, any) concatenated."""
    return layers.Concatenate()(parts) if len(parts) > 1 else parts[0]


def head(x: keras.KerasTensor, outputs: int, h: Hyperparameters) -> keras.KerasTensor:
    """Hidden layers and the output, (b, outputs)."""
    for _ in range(h.layers):
        x = layers.Dense(h.units, activation="relu")(x)
        x = layers.Dropout(h.dropout)(x)
    return layers.Dense(outputs, name="output")(x)
