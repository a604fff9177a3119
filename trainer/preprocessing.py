"""Encoded images -> the pixels that models see, in TensorFlow; and augmentation.

trainer.export has stored every image of a dataset upright and in the dataset's size
(trainer.images): training only decodes. A program that calls the SavedModel itself, in TensorFlow
Serving or its own process, may pass files of any size to the graph: `decode_any_size` follows the
same rules as far as TensorFlow's decoders can, for upright opaque images and not to the bit.
"""

from typing import TypeAlias

import tensorflow as tf

from trainer.dataset_features import Resize

Size: TypeAlias = tf.Tensor | tuple[int, int]  # height, width


def decode(encoded: tf.Tensor, shape: tuple[int, int, int]) -> tf.Tensor:
    """Encoded images of one size, (n,) bytes of JPEG, PNG, BMP or GIF -> (n, *shape) uint8.

    shape: (height, width, channels); channels 1 is grey, 3 RGB. Fails if an image has another size.
    """
    return tf.map_fn(
        lambda image: tf.ensure_shape(_decode_one(image, shape[-1]), shape),
        encoded,
        fn_output_signature=tf.TensorSpec(shape, tf.uint8),
    )


def decode_any_size(
    encoded: tf.Tensor, shape: tuple[int, int, int], how: Resize = "stretch"
) -> tf.Tensor:
    """As `decode`, but images may have any size: they are resized to the shape's."""
    return tf.map_fn(
        lambda image: tf.ensure_shape(_resize(_decode_one(image, shape[-1]), shape, how), shape),
        encoded,
        fn_output_signature=tf.TensorSpec(shape, tf.uint8),
    )


def augment(
    images: tf.Tensor, seed: tf.Tensor, *, shift: bool = False, flip: bool = False
) -> tf.Tensor:
    """Vary a batch of images (n, height, width, channels), as a pure function of `seed` (2,).

    shift: by up to an eighth of height and width; what is uncovered mirrors the edge. flip: half of
    the images, left to right.
    """
    rows, columns, mirrored = tf.unstack(tf.random.split(seed, 3))
    if shift:
        images = _shift(images, 1, rows)
        images = _shift(images, 2, columns)
    if flip:
        chosen = tf.random.stateless_uniform([tf.shape(images)[0], 1, 1, 1], mirrored) < 0.5
        images = tf.where(chosen, tf.reverse(images, [2]), images)
    return images


def _decode_one(image: tf.Tensor, channels: int) -> tf.Tensor:
    return tf.io.decode_image(image, channels=channels, expand_animations=False)


def _resize(pixels: tf.Tensor, shape: tuple[int, int, int], how: Resize) -> tf.Tensor:
    """As trainer.images.resize."""
    height, width, _ = shape
    if how == "crop":
        part = _largest_within(tf.shape(pixels)[:2], (height, width))
        return _stretch(_central_part(pixels, part), (height, width))
    if how == "letterbox":
        inner = _stretch(pixels, _largest_within((height, width), tf.shape(pixels)[:2]))
        return tf.image.resize_with_crop_or_pad(inner, height, width)
    return _stretch(pixels, (height, width))


def _largest_within(size: Size, proportions: Size) -> tf.Tensor:
    """As trainer.images.largest_within."""
    height, width = tf.unstack(tf.cast(size, tf.int64))
    h, w = tf.unstack(tf.cast(proportions, tf.int64))
    largest = tf.stack([tf.minimum(height, width * h // w), tf.minimum(width, height * w // h)])
    return tf.cast(tf.maximum(largest, 1), tf.int32)


def _central_part(pixels: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    top, left = tf.unstack((tf.shape(pixels)[:2] - size) // 2)
    return pixels[top : top + size[0], left : left + size[1]]


def _stretch(pixels: tf.Tensor, size: Size) -> tf.Tensor:
    smaller = tf.minimum(tf.shape(pixels)[:2], size)
    pixels = tf.image.resize(pixels, smaller, tf.image.ResizeMethod.AREA)
    pixels = tf.image.resize(pixels, size, tf.image.ResizeMethod.BILINEAR)
    return tf.cast(tf.round(pixels), tf.uint8)


def _shift(images: tf.Tensor, axis: int, seed: tf.Tensor) -> tf.Tensor:
    """Move each image along an axis by its own number of pixels."""
    size = images.shape[axis]
    most = max(1, size // 8)
    paddings = [[0, 0]] * 4
    paddings[axis] = [most, most]
    padded = tf.pad(images, paddings, "SYMMETRIC")
    count = tf.shape(images)[0]
    first = tf.random.stateless_uniform([count, 1], seed, 0, 2 * most + 1, dtype=tf.int32)
    return tf.gather(padded, first + tf.range(size), axis=axis, batch_dims=1)
