"""The frame of every model of images: a body for each image, joined with the columns beside them.

An image alone goes through the body to the output. What the bodies make of several images, and the
columns beside them (of a sequence its summary), go through one hidden layer: a linear output of
both could not say that a column matters for some images only.
"""

from collections.abc import Callable

import keras
from keras import layers

from trainer.models import inputs
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE, Feature
from trellis_contracts.hyperparameters import Hyperparameters

_UNITS = 128

Body = Callable[[keras.KerasTensor, Feature], keras.KerasTensor]
"""Pixels from -1 to 1, (b, height, width, channels), and their feature -> (b, any)."""


def build(dataset: DatasetDescription, h: Hyperparameters, body: Body, name: str) -> keras.Model:
    """A model of all that a dataset's examples hold; see trainer.models.build."""
    row = inputs.table(dataset, h.embedding)
    seen = [body(row.images[each.name], each) for each in dataset.features_of(IMAGE)]
    x = _joined([*seen, *row.flat, *row.summaries()], h)
    output = layers.Dense(dataset.outputs, name="output", dtype=inputs.FLOAT)(x)
    return keras.Model(row.inputs, output, name=name)


def _joined(parts: list[keras.KerasTensor], h: Hyperparameters) -> keras.KerasTensor:
    x = inputs.joined(parts)
    if len(parts) == 1:
        return x
    x = layers.Dense(_UNITS, activation="relu", name="joined")(x)
    return layers.Dropout(h.dropout)(x)
