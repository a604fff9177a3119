"""Encoded images -> the pixels that models see, in TensorFlow; and augmentation.

trainer.export has stored every image of a dataset upright and in the dataset's size
(trainer.images): training only decodes. A program that calls the SavedModel itself, in TensorFlow
Serving or its own process, may pass files of any size to the graph: `decode_any_size` follows the
same rules as far as TensorFlow's decoders can, for upright opaque images and not to the bit. With
a scale (trainer.images.scale), it takes PNG of 16 bits per channel.
"""

from collections.abc import Callable
from typing import TypeAlias

import tensorflow as tf

from trainer.images.scale import WHITE, Scale
from trellis_contracts.dataset_features import Feature, Resize

Size: TypeAlias = tf.Tensor | tuple[int, int]  # height, width


def decode(encoded: tf.Tensor, feature: Feature) -> tf.Tensor:
    """Stored images, (n,) bytes -> (n, height, width, channels) of the feature's type.

    Fails if an image has another size.
    """
    return _each(encoded, feature, lambda image: _decode_one(image, feature))


def decode_masks(encoded: tf.Tensor, shape: tuple[int, ...]) -> tf.Tensor:
    """Stored masks, (n,) bytes -> (n, height, width) uint8. Fails if a mask has another shape."""

    def one(mask: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(tf.io.decode_png(mask, 1)[..., 0], shape)

    return tf.map_fn(one, encoded, fn_output_signature=tf.TensorSpec(shape, tf.uint8))


def decode_any_size(encoded: tf.Tensor, feature: Feature) -> tf.Tensor:
    """Decode files like `decode`: (n,) bytes of JPEG, PNG, BMP or GIF of any size, or, with a
    scale, of PNG with 16 bits per channel.
    """
    shape, how = feature.image_shape, feature.image_resize
    if feature.scale is None:
        return _each(encoded, feature, lambda i: _resize(_decode_one(i, feature), shape, how))
    scale = Scale.parse(feature.scale)
    if scale.rule == "window":
        return _refused(encoded, feature)

    def deep(image: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([_assert_deep(image)]):
            return _resize(_scaled(_decode_one(image, feature), scale), shape, how)

    return _each(encoded, feature, deep)


def augment(
    images: tf.Tensor, seed: tf.Tensor, *, shift: bool = False, flip: bool = False
) -> tf.Tensor:
    """Vary a batch of images (n, height, width, channels), as a pure function of `seed` (2,).

    shift: by up to an eighth of height and width; what is uncovered mirrors the edge. flip: half of
    the images, left to right.
    """
    rows, columns, mirrored = tf.unstack(tf.random.split(seed, 3))
    if shift:
        images = tf.gather(images, _shifted(images, 1, rows), axis=1, batch_dims=1)
    if not (shift or flip):
        return images
    # One gathering moves and mirrors: tf.reverse alone would take twice the time.
    count, size = tf.shape(images)[0], images.shape[2]
    places = _shifted(images, 2, columns) if shift else tf.tile(tf.range(size)[None], [count, 1])
    if flip:
        chosen = tf.random.stateless_uniform([count, 1], mirrored) < 0.5
        places = tf.where(chosen, tf.reverse(places, [1]), places)
    return tf.gather(images, places, axis=2, batch_dims=1)


def _each(
    encoded: tf.Tensor, feature: Feature, make: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    shape = feature.image_shape
    return tf.map_fn(
        lambda image: tf.ensure_shape(make(image), shape),
        encoded,
        fn_output_signature=tf.TensorSpec(shape, tf.as_dtype(feature.dtype)),
    )


def _decode_one(image: tf.Tensor, feature: Feature) -> tf.Tensor:
    channels = feature.image_shape[-1]
    if feature.scale is not None:
        return tf.io.decode_png(image, channels, tf.uint16)
    return tf.io.decode_image(image, channels=channels, expand_animations=False)


def _assert_deep(image: tf.Tensor) -> tf.Operation:
    """Assert that a file is a PNG with 16 bits per channel: TensorFlow would decode others to 8
    bits.
    """
    found = tf.strings.substr(image, 0, 4) + tf.strings.substr(image, 24, 1)
    return tf.debugging.Assert(
        tf.equal(found, b"\x89PNG\x10"), ["expected a PNG file with 16 bits per channel"]
    )


def _refused(encoded: tf.Tensor, feature: Feature) -> tf.Tensor:
    """Fail: a window stands in the header of a DICOM file, which TensorFlow does not read."""
    message = "DICOM files: send them to the model's server, which reads them"
    with tf.control_dependencies([tf.debugging.Assert(tf.equal(tf.size(encoded), 0), [message])]):
        return tf.zeros([tf.size(encoded), *feature.image_shape], tf.as_dtype(feature.dtype))


def _scaled(pixels: tf.Tensor, scale: Scale) -> tf.Tensor:
    """Scale like Scale.apply."""
    if scale.rule == "full":
        return pixels
    values = tf.cast(pixels, tf.float32)
    low, high = tf.constant(scale.low), tf.constant(scale.high)
    if scale.rule == "percentiles":
        low, high = _percentile(values, scale.low), _percentile(values, scale.high)
    scaled = tf.math.divide_no_nan(values - low, high - low) * WHITE
    return tf.cast(tf.round(tf.clip_by_value(scaled, 0.0, WHITE)), tf.uint16)


def _percentile(values: tf.Tensor, percent: float) -> tf.Tensor:
    """Interpolate between two values like NumPy."""
    ordered = tf.sort(tf.reshape(values, [-1]))
    place = tf.cast(tf.size(ordered) - 1, tf.float64) * (percent / 100)
    below = tf.floor(place)
    first = tf.gather(ordered, tf.cast(below, tf.int32))
    second = tf.gather(ordered, tf.cast(tf.math.ceil(place), tf.int32))
    return first + (second - first) * tf.cast(place - below, tf.float32)


def _resize(pixels: tf.Tensor, shape: tuple[int, int, int], how: Resize) -> tf.Tensor:
    """Resize like trainer.images.resize."""
    height, width, _ = shape
    if how == "crop":
        part = _largest_within(tf.shape(pixels)[:2], (height, width))
        return _stretch(_central_part(pixels, part), (height, width))
    if how == "letterbox":
        inner = _stretch(pixels, _largest_within((height, width), tf.shape(pixels)[:2]))
        return tf.image.resize_with_crop_or_pad(inner, height, width)
    return _stretch(pixels, (height, width))


def _largest_within(size: Size, proportions: Size) -> tf.Tensor:
    """Crop like trainer.images.largest_within."""
    height, width = tf.unstack(tf.cast(size, tf.int64))
    h, w = tf.unstack(tf.cast(proportions, tf.int64))
    largest = tf.stack([tf.minimum(height, width * h // w), tf.minimum(width, height * w // h)])
    return tf.cast(tf.maximum(largest, 1), tf.int32)


def _central_part(pixels: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    top, left = tf.unstack((tf.shape(pixels)[:2] - size) // 2)
    return pixels[top : top + size[0], left : left + size[1]]


def _stretch(pixels: tf.Tensor, size: Size) -> tf.Tensor:
    smaller = tf.minimum(tf.shape(pixels)[:2], size)
    dtype = pixels.dtype
    pixels = tf.image.resize(pixels, smaller, tf.image.ResizeMethod.AREA)
    pixels = tf.image.resize(pixels, size, tf.image.ResizeMethod.BILINEAR)
    return tf.cast(tf.round(pixels), dtype)


def _shifted(images: tf.Tensor, axis: int, seed: tf.Tensor) -> tf.Tensor:
    """The places along an axis, (n, size), that move each image by its own number of pixels; the
    edge is mirrored.
    """
    size = images.shape[axis]
    most = max(1, size // 8)
    count = tf.shape(images)[0]
    first = tf.random.stateless_uniform([count, 1], seed, 0, 2 * most + 1, dtype=tf.int32)
    places = first + tf.range(size) - most
    # Mirrored places, not mirrored pixels: tf.pad would take three quarters of the time.
    places = tf.where(places < 0, -1 - places, places)
    return tf.where(places < size, places, 2 * size - 1 - places)
