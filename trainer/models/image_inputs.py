"""Keras inputs of images, and the layer that scales their pixels.

    image_COLUMN  (b, height, width, channels) uint8, with `scale` uint16; of a column `image`, as
                  a manifest's is called, image

Both are scaled to -1..1 by a layer of their own, from which a model can be differentiated.
"""

from collections.abc import Callable, Mapping

import keras
import tensorflow as tf
from keras import layers

from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE, Feature

_SCALED = "scaled"

FLOAT = "float32"
"""Type of preprocessing and outputs, also where layers compute with 16 bits (mixed precision)."""


def image_input(feature: Feature) -> str:
    """Name of an image feature's input."""
    return _named(IMAGE, feature)


def scaling(feature: Feature) -> str:
    """Name of the layer that scales an image feature's pixels."""
    return _named(_SCALED, feature)


def _named(what: str, feature: Feature) -> str:
    return what if feature.column == IMAGE else f"{what}_{feature.column}"


def pixels(feature: Feature) -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """The input of an image feature, pixels (b, height, width, channels) of the feature's type,
    and the same from -1 to 1.
    """
    taken = keras.Input(feature.image_shape, dtype=feature.dtype, name=image_input(feature))
    return taken, scaled(feature, taken)


def scaled(feature: Feature, taken: keras.KerasTensor) -> keras.KerasTensor:
    """Pixels of an image feature's type, (b, any, any, channels), from -1 to 1."""
    layer = layers.Rescaling(2 / feature.white, offset=-1, name=scaling(feature), dtype=FLOAT)
    return layer(taken)


def image(dataset: DatasetDescription) -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """The input of a dataset's first image, and its pixels from -1 to 1: see `pixels`."""
    return pixels(dataset.features_of(IMAGE)[0])


def from_floats(
    model: keras.Model, dataset: DatasetDescription
) -> Callable[[Mapping[str, tf.Tensor]], tf.Tensor]:
    """A model as one that takes float32 pixels, by which it can be differentiated.

    model: its image inputs are from `pixels`. The result is called as a model, with tensors by the
    names of its inputs.
    """
    taken = {tensor.name: tensor for tensor in model.inputs}
    layer_of = {
        name: model.get_layer(scaling(feature))
        for feature in dataset.features_of(IMAGE)
        if (name := image_input(feature)) in taken
    }
    begin = [layer_of[name].output if name in layer_of else taken[name] for name in taken]
    rest = keras.Model(begin, model.output)

    def call(inputs: Mapping[str, tf.Tensor]) -> tf.Tensor:
        values = [layer_of[n](inputs[n]) if n in layer_of else inputs[n] for n in taken]
        return rest(values, training=False)

    return call
