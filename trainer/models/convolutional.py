"""A small convolutional network in the style of VGG (https://arxiv.org/abs/1409.1556).

It uses group normalization (https://arxiv.org/abs/1803.08494). Batch normalization would depend on
the batch size, which is often small here, and would have to synchronize the workers in every layer
of every step.
"""

import keras
from keras import layers

from trainer.models import ModelError, image_model
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import Feature
from trellis_contracts.hyperparameters import Hyperparameters

_MAX_GROUPS = 8
_MAX_FILTERS = 512


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""

    def body(x: keras.KerasTensor, feature: Feature) -> keras.KerasTensor:
        _check(feature, h)
        for block in range(h.blocks):
            filters = min(h.filters << block, _MAX_FILTERS)
            x = _convolution(x, filters, h.kernel)
            x = _convolution(x, filters, h.kernel)
            x = layers.MaxPooling2D()(x)
        x = layers.GlobalAveragePooling2D()(x)
        return layers.Dropout(h.dropout)(x)

    return image_model.build(dataset, h, body, "convolutional")


def _check(feature: Feature, h: Hyperparameters) -> None:
    height, width, _ = feature.image_shape
    most = min(height, width).bit_length() - 1
    if h.blocks > most:
        raise ModelError(
            f"blocks={h.blocks} would halve {height}x{width} images to nothing: "
            + (f"use at most {most}" if most else "use the dense model")
        )


def _convolution(x: keras.KerasTensor, filters: int, kernel: int) -> keras.KerasTensor:
    # The normalization has an offset, which replaces the bias.
    x = layers.Conv2D(filters, kernel, padding="same", use_bias=False)(x)
    groups = max(g for g in range(1, _MAX_GROUPS + 1) if filters % g == 0)
    x = layers.GroupNormalization(groups)(x)
    return layers.ReLU()(x)
