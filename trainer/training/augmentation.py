"""Varies images of training batches, as a pure function of a seed, so that a restart finds them as
they were.

Beside the shifts and flips of trainer.preprocessing these are Keras' layers: RandAugment (Cubuk et
al. 2020, https://arxiv.org/abs/1909.13719), mixup (Zhang et al. 2018,
https://arxiv.org/abs/1710.09412) and CutMix (Yun et al. 2019, https://arxiv.org/abs/1905.04899).
The layers draw from a state of their own, which no checkpoint has; here, they draw from the seed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import keras
import tensorflow as tf

from trainer import preprocessing
from trainer.models.image_inputs import image_input
from trainer.training.records import Inputs
from trellis_contracts.dataset_features import Feature
from trellis_contracts.hyperparameters import Common

# Operations that an image goes through, as in the paper.
_OPERATIONS = 2


class Mixed(NamedTuple):
    """Labels of images that were mixed of two: `share` (b,) float32 of each is of `first` (b,), the
    rest of `second` (b,).
    """

    first: tf.Tensor
    second: tf.Tensor
    share: tf.Tensor


class Augmentation:
    """The augmentation of a training's examples: of their images, each by itself, or all alike and
    the mask with them. features: the images. masks: whether labels are masks.

    Mixing takes examples of one image and no more (trainer.training.data_checks).
    """

    def __init__(self, h: Common, features: Sequence[Feature], masks: bool = False):
        self._h, self._masks = h, masks
        self._images = {image_input(each): ImageAugmentation(h, each.white) for each in features}

    @property
    def varies(self) -> bool:
        """True if any augmentation is on."""
        return any(each.varies for each in self._images.values())

    def __call__(
        self, inputs: Inputs, labels: tf.Tensor, seed: tf.Tensor
    ) -> tuple[Inputs, tf.Tensor | Mixed]:
        """Inputs as trainer.models.inputs has them and labels (b,), of masks (b, height, width),
        varied. seed: (2,) int64.
        """
        varied, answers = dict(inputs), labels
        for place, (name, vary) in enumerate(self._images.items()):
            if name in inputs:
                # One image alone is varied by the seed itself.
                alone = place and not self._masks
                own = tf.random.fold_in(seed, 1 + place) if alone else seed
                varied[name], answers = vary(inputs[name], labels, own)
        if self._masks:
            h, masks = self._h, labels[..., tf.newaxis]
            answers = preprocessing.augment(masks, seed, shift=h.augment, flip=h.flip)[..., 0]
        return varied, answers


class ImageAugmentation:
    """The augmentation of a feature's images. white: the largest value of their pixels."""

    def __init__(self, h: Common, white: int = 255):
        self._h = h
        # The layers take values from 0 to 255, as floats of any fineness.
        self._step = white / 255
        self._draws = _Draws()
        self._operations = self._mix = None
        if h.rand_augment:
            self._operations = keras.layers.RandAugment(
                num_ops=_OPERATIONS, factor=h.rand_augment, seed=0, dtype="float32"
            )
            self._operations.generator = self._draws
        if h.mix == "mixup":
            self._mix = keras.layers.MixUp(h.mix_alpha, seed=0, dtype="float32")
        elif h.mix == "cutmix":
            # Two equal ends: Keras would draw alpha, too.
            self._mix = keras.layers.CutMix((h.mix_alpha, h.mix_alpha), seed=0, dtype="float32")

    @property
    def varies(self) -> bool:
        """True if any augmentation is on."""
        return bool(self._h.augment or self._h.flip or self._operations or self._mix)

    def __call__(
        self, images: tf.Tensor, labels: tf.Tensor, seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor | Mixed]:
        """Images (b, height, width, channels) uint8 or uint16 and labels (b,), varied. seed: (2,)
        int64.
        """
        h = self._h
        images = preprocessing.augment(images, seed, shift=h.augment, flip=h.flip)
        # Another seed than the shifts', of which those of the layers are made.
        self._draws.begin(tf.random.fold_in(seed, 1))
        if self._operations:
            drawn = self._operations.get_random_transformation(images)
            varied = self._operations.transform_images(self._layers_input(images), drawn)
            images = self._whole(varied, images.dtype)
        if not self._mix:
            return images, labels
        drawn = self._mix.get_random_transformation({"images": images}, seed=self._draws)
        varied = self._mix.transform_images(self._layers_input(images), drawn)
        mixed = self._whole(varied, images.dtype)
        share = tf.reshape(drawn["mix_weight"], [-1])
        return mixed, Mixed(labels, tf.gather(labels, drawn["permutation_order"]), share)

    def _layers_input(self, images: tf.Tensor) -> tf.Tensor:
        return images if self._step == 1 else tf.cast(images, tf.float32) / self._step

    def _whole(self, images: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        clipped = tf.clip_by_value(images, 0.0, 255.0)
        return tf.cast(tf.round(clipped if self._step == 1 else clipped * self._step), dtype)


class _Draws(keras.random.SeedGenerator):
    """Seeds for one layer after the other, all of them functions of one seed."""

    def __init__(self) -> None:
        super().__init__(0)
        self._from: tf.Tensor = tf.zeros([2], tf.int64)
        self._drawn = 0

    def begin(self, seed: tf.Tensor) -> None:
        """Draw from this seed on."""
        self._from, self._drawn = seed, 0

    def next(self, ordered: bool = True) -> tf.Tensor:
        """See SeedGenerator."""
        self._drawn += 1
        return tf.random.fold_in(self._from, self._drawn)
