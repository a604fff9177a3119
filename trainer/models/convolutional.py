"""A small convolutional network in the style of VGG (https://arxiv.org/abs/1409.1556).

It uses group normalization (https://arxiv.org/abs/1803.08494). Batch normalization would depend on
the batch size, which is often small here, and would have to synchronize the workers in every layer
of every step.
"""

import keras
from keras import layers

from trainer.models import ModelError, inputs
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Hyperparameters

_MAX_GROUPS = 8
_MAX_FILTERS = 512


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    height, width, _ = dataset.features[0].image_shape
    most = min(height, width).bit_length() - 1
    if h.blocks > most:
        raise ModelError(
            f"blocks={h.blocks} would halve {height}x{width} images to nothing: "
            + (f"use at most {most}" if most else "use the dense model")
        )
    image, x = inputs.image(dataset)
    for block in range(h.blocks):
        filters = min(h.filters << block, _MAX_FILTERS)
        x = _convolution(x, filters, h.kernel)
        x = _convolution(x, filters, h.kernel)
        x = layers.MaxPooling2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(h.dropout)(x)
    output = layers.Dense(dataset.outputs, name="output", dtype=inputs.FLOAT)(x)
    return keras.Model(image, output, name="convolutional")


def _convolution(x: keras.KerasTensor, filters: int, kernel: int) -> keras.KerasTensor:
    # The normalization has an offset, which replaces the bias.
    x = layers.Conv2D(filters, kernel, padding="same", use_bias=False)(x)
    groups = max(g for g in range(1, _MAX_GROUPS + 1) if filters % g == 0)
    x = layers.GroupNormalization(groups)(x)
    return layers.ReLU()(x)
