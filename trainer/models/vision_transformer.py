"""A small vision transformer (https://arxiv.org/abs/2010.11929): an image's patches as steps.

Places are learned. The mean over all patches takes the place of the paper's class token, which is
as good with a plain model (https://arxiv.org/abs/2205.01580).
"""

import math

import keras
from keras import layers

from trainer.models import attention, image_model
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import Feature
from trellis_contracts.hyperparameters import Hyperparameters


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""

    def body(x: keras.KerasTensor, feature: Feature) -> keras.KerasTensor:
        side = math.ceil(max(feature.image_shape[:2]) / h.patches)
        # The part that an image lacks to whole patches is zero, a medium grey.
        x = layers.Conv2D(attention.width(h), side, strides=side, padding="same")(x)
        x = layers.Reshape((-1, attention.width(h)))(x)
        x = layers.Dropout(h.dropout)(Places()(x))
        return layers.GlobalAveragePooling1D()(attention.encoded(x, h))

    return image_model.build(dataset, h, body, "vision_transformer")


class Places(layers.Layer):
    """(b, patches, width) -> the same with a learned vector added to each patch."""

    def build(self, shape):
        initial = keras.initializers.TruncatedNormal(stddev=0.02)
        self._places = self.add_weight(shape=shape[1:], initializer=initial, name="embeddings")

    def call(self, patches):
        return patches + self._places
