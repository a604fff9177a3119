"""The frame of every model of masks: an image's pixels in, a logit for each of them and class out.

The network halves an image several times; one whose sides do not divide is filled up with its own
pixels, mirrored. With `patch`, the model is one of patches, which answers by tiles (tiling).
"""

from collections.abc import Callable, Sequence

import keras
from keras import layers

from trainer.models import ModelError, inputs
from trainer.models.tiling import Mirrored, PatchModel
from trellis_contracts import patches
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE
from trellis_contracts.hyperparameters import Hyperparameters

Network = Callable[[keras.KerasTensor], keras.KerasTensor]
"""Pixels from -1 to 1, (b, height, width, channels) -> features (b, height, width, any)."""


def build(
    dataset: DatasetDescription,
    h: Hyperparameters,
    network: Network,
    name: str,
    halvings: int,
    reach: int | None = None,
) -> keras.Model:
    """A model of the dataset's image; see trainer.models.build. halvings: of the network. reach:
    how many pixels away from its own a feature depends on at most; None: on all.
    """
    if len(dataset.features) > 1:
        others = ", ".join(feature.name for feature in dataset.features[1:])
        raise ModelError(f"a mask is predicted from one image alone: leave out {others}")
    (feature,) = dataset.features_of(IMAGE)
    height, width, channels = feature.image_shape
    multiple, side = 2**halvings, h.patch
    if min(height, width) < multiple:
        raise ModelError(f"{height}x{width} images cannot be halved {halvings} times")
    if side and (why := patches.unfit(side, halvings, (height, width))):
        raise ModelError(f"patch={side}: {why}")
    shape = (side, side, channels) if side else feature.image_shape
    taken = keras.Input(shape, dtype=feature.dtype, name=inputs.image_input(feature))
    x = inputs.scaled(feature, taken)
    if side:
        x = network(x)
    else:
        x = network(Mirrored(shape, multiple)(x))
        x = layers.Cropping2D(((0, x.shape[1] - height), (0, x.shape[2] - width)))(x)
    output = layers.Conv2D(dataset.outputs, 1, name="output", dtype=inputs.FLOAT)(x)
    if not side:
        return keras.Model({taken.name: taken}, output, name=name)
    model = PatchModel({taken.name: taken}, output, name=name)
    model.whole = (height, width), margin(side, multiple, reach)
    return model


def margin(side: int, multiple: int, reach: int | None) -> int:
    """Pixels at a tile's edge that are not used: those that see less than in the whole image, at
    most a quarter of its side; an eighth, if all pixels depend on all.

    An eighth is the overlap of a quarter that MONAI's sliding windows have by default.
    """
    if reach is None:
        return side // 8 // multiple * multiple
    return min(-(-reach // multiple), side // 4 // multiple) * multiple


def convolutions(x: keras.KerasTensor, filters: int, kernel: int) -> keras.KerasTensor:
    """Two convolutions, each normalized over its filters and rectified.

    Over the filters of each pixel alone (as in ConvNeXt, https://arxiv.org/abs/2201.03545): over
    pixels, as group normalization does, a tile would see another mean than its image.
    """
    for _ in range(2):
        x = layers.Conv2D(filters, kernel, padding="same")(x)
        x = layers.LayerNormalization()(x)
        x = layers.ReLU()(x)
    return x


def expanded(
    x: keras.KerasTensor,
    skipped: Sequence[keras.KerasTensor],
    filters: Sequence[int],
    kernel: int,
) -> keras.KerasTensor:
    """The expanding half: x doubled and joined with what was skipped, the coarsest first, until it
    is as large as the image. filters: of each step.
    """
    for beside, count in zip(skipped, filters, strict=True):
        x = layers.Conv2DTranspose(count, 2, strides=2)(x)
        if x.shape[1:3] != beside.shape[1:3]:
            # Networks without padding halve 75 pixels to 37.
            x = layers.Resizing(*beside.shape[1:3], interpolation="bilinear")(x)
        x = convolutions(layers.Concatenate()([x, beside]), count, kernel)
    return x
