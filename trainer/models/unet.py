"""A U-Net (https://arxiv.org/abs/1505.04597): a contracting half, and an expanding one that joins
each of its steps with what the contracting half had at that size.

Beside the paper's, its convolutions are padded, so that a mask is as large as its image, and
normalized (mask_model).
"""

import keras
from keras import layers

from trainer.models import mask_model
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Hyperparameters

_MAX_FILTERS = 512


def build(dataset: DatasetDescription, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    filters = [min(h.filters << level, _MAX_FILTERS) for level in range(h.blocks + 1)]

    def network(x: keras.KerasTensor) -> keras.KerasTensor:
        skipped = []
        for count in filters[:-1]:
            x = mask_model.convolutions(x, count, h.kernel)
            skipped.append(x)
            x = layers.MaxPooling2D()(x)
        x = mask_model.convolutions(x, filters[-1], h.kernel)
        x = layers.Dropout(h.dropout)(x)
        return mask_model.expanded(x, skipped[::-1], filters[-2::-1], h.kernel)

    return mask_model.build(dataset, h, network, "unet", h.blocks, reach(h.blocks, h.kernel))


def reach(blocks: int, kernel: int) -> int:
    """How many pixels away from its own a pixel's logits depend on at most: two convolutions in
    each level on the way down and up, and what poolings and doublings put together.
    """
    convolved = [2 * (kernel // 2) * 2**level for level in range(blocks + 1)]
    joined = sum(3 * 2**level for level in range(blocks))
    return sum(convolved) + sum(convolved[:-1]) + joined
