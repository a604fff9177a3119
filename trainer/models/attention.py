"""Encoder blocks of a transformer (https://arxiv.org/abs/1706.03762), for steps or patches.

Normalization is before attention and layers, not after, which trains without a long warm-up
(https://arxiv.org/abs/2002.04745).
"""

import keras
from keras import layers

from trellis_contracts.hyperparameters import Hyperparameters

# The inner of a block's two layers is so many times as wide as a step, as in the paper.
_EXPANSION = 4


def width(h: Hyperparameters) -> int:
    """Units of each step."""
    return h.heads * h.head_units


def encoded(
    x: keras.KerasTensor, h: Hyperparameters, mask: keras.KerasTensor | None = None
) -> keras.KerasTensor:
    """Steps (b, steps, width) that attend to each other, normalized.

    mask: (b, steps), true for the steps that may be attended to; None: all.
    """
    if mask is not None:
        mask = keras.ops.expand_dims(mask, 1)  # the same for every step that attends
    for _ in range(h.attention_blocks):
        y = layers.LayerNormalization()(x)
        y = layers.MultiHeadAttention(h.heads, h.head_units)(y, y, attention_mask=mask)
        x = layers.Add()([x, layers.Dropout(h.dropout)(y)])
        y = layers.LayerNormalization()(x)
        y = layers.Dense(_EXPANSION * width(h), activation="gelu")(y)
        y = layers.Dense(width(h))(y)
        x = layers.Add()([x, layers.Dropout(h.dropout)(y)])
    return layers.LayerNormalization()(x)
