"""Patches of images: a model that learns from them, and answers for whole images by tiles.

A tile is as large as a patch, and its outer pixels, of which the network sees one side only, are
not used: tiles overlap by twice this margin, but for those at the image's edge, where the network
sees as little in the whole image. An image that is no larger than a patch is one tile.
"""

import itertools
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from trainer.models.image_inputs import FLOAT


class PatchModel(keras.Model):
    """A model of patches (b, side, side, channels), made as a functional one. `tiled` is the same
    of whole images, once `whole` is set: their (height, width), and the margin of a tile.
    """

    whole: tuple[tuple[int, int], int]

    def tiled(self) -> keras.Model:
        """A model of whole images that has the same layers."""
        (patch,) = self.inputs
        shape = (*self.whole[0], patch.shape[-1])
        taken = keras.Input(shape, dtype=patch.dtype, name=patch.name)
        return keras.Model({patch.name: taken}, Tiles(self)(taken), name=self.name)


class Tiles(layers.Layer):
    """Whole images (b, height, width, channels) -> what a model of patches says of them,
    (b, height, width, any).
    """

    def __init__(self, model: PatchModel):
        super().__init__(dtype=FLOAT, autocast=False)
        self._of_patch = model
        (patch,) = model.inputs
        self._name, self._side = patch.name, patch.shape[1]
        (self._height, self._width), margin = model.whole
        self._rows, self._columns = (
            places(size, self._side, margin) for size in (self._height, self._width)
        )

    def compute_output_shape(self, shape):
        return (*shape[:-1], self._of_patch.output.shape[-1])

    def call(self, images):
        tiles = [*itertools.product(self._rows, self._columns)]
        side = self._side

        def of_tile(place):
            tile = images[:, place[0] : place[0] + side, place[1] : place[1] + side]
            tile = tf.ensure_shape(tile, [None, side, side, images.shape[-1]])
            return self._of_patch({self._name: tile}, training=False)

        if len(tiles) == 1:
            return of_tile((0, 0))
        begins = tf.constant([(row[0], column[0]) for row, column in tiles])
        # One after the other, so that memory holds the activations of one tile of each image.
        answer = tf.TensorSpec([None, side, side, self._of_patch.output.shape[-1]], tf.float32)
        found = tf.map_fn(of_tile, begins, fn_output_signature=answer, parallel_iterations=1)
        bands = []
        for number, (begin, first, last) in enumerate(self._rows):
            parts = [
                found[number * len(self._columns) + place][:, first - begin : last - begin, a:b]
                for place, (left, start, end) in enumerate(self._columns)
                for a, b in [(start - left, end - left)]
            ]
            bands.append(tf.concat(parts, 2))
        return tf.concat(bands, 1)


def places(size: int, side: int, margin: int) -> list[tuple[int, int, int]]:
    """The tiles along an axis: of each the first pixel that it sees, and the first and the end of
    those that are its own.
    """
    steps = range(0, max(1, size - side), side - 2 * margin)
    begins = [begin for begin in steps if begin + side < size] + [max(0, size - side)]
    own = [0, *(begin + margin for begin in begins[1:]), size]
    return [(begin, own[i], own[i + 1]) for i, begin in enumerate(begins)]


class Mirrored(layers.Layer):
    """Images (b, height, width, channels) -> the same filled up below and to the right with their
    own pixels, mirrored, to multiples of a number.
    """

    def __init__(self, shape: Sequence[int], multiple: int):
        super().__init__(dtype=FLOAT)
        self._places = [_mirrored(size, multiple) for size in shape[:2]]

    def call(self, images):
        for axis, taken in enumerate(self._places, start=1):
            if len(taken) > images.shape[axis]:
                images = tf.gather(images, taken, axis=axis)
        return images


def _mirrored(size: int, multiple: int) -> np.ndarray:
    taken = np.arange(-(-size // multiple) * multiple)
    return np.where(taken < size, taken, 2 * size - 1 - taken)
