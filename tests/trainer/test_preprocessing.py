"""From encoded images to pixels in TensorFlow; and what augmentation may change."""

import cv2
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer import preprocessing
from trainer.images import Scale, pixels, resize
from trellis_contracts.dataset_features import RESIZES, Feature


def noise(height, width, channels, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def described(shape, how="stretch", scale=None):
    dtype = "uint8" if scale is None else "uint16"
    return Feature("image", "image", dtype, "png", tuple(shape), resize=how, scale=scale)


def encoded(pixels, extension=".png"):
    """Encode with OpenCV; three channels are RGB here and BGR there."""
    return cv2.imencode(extension, pixels[..., ::-1])[1].tobytes()


@pytest.mark.parametrize("channels", [1, 3])
def test_a_stored_image_comes_back_as_it_was(channels):
    images = np.stack([noise(5, 7, channels, seed) for seed in range(3)])
    decoded = preprocessing.decode(
        tf.constant([encoded(i) for i in images]), described(images.shape[1:])
    )
    np.testing.assert_array_equal(decoded, images)


def test_grey_becomes_rgb_and_rgb_becomes_grey():
    grey, colour = noise(4, 4, 1), noise(4, 4, 3)
    as_colour = preprocessing.decode(tf.constant([encoded(grey)]), described((4, 4, 3)))[0]
    np.testing.assert_array_equal(as_colour, np.repeat(grey, 3, axis=2))
    as_grey = preprocessing.decode(tf.constant([encoded(colour)]), described((4, 4, 1)))[0, ..., 0]
    np.testing.assert_allclose(as_grey, colour @ [0.299, 0.587, 0.114], atol=1)


def test_training_refuses_an_image_of_another_size():
    with pytest.raises(tf.errors.InvalidArgumentError):
        preprocessing.decode(tf.constant([encoded(noise(4, 5, 1))]), described((4, 4, 1)))


@settings(max_examples=30)
@given(
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    wanted=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    channels=st.sampled_from([1, 3]),
    how=st.sampled_from(RESIZES),
)
def test_the_graph_resizes_nearly_as_the_export_does(size, wanted, channels, how):
    pixels = noise(*size, channels)
    shape = (*wanted, channels)
    served = preprocessing.decode_any_size(tf.constant([encoded(pixels)]), described(shape, how))
    exported = resize(pixels, *wanted, how).reshape(shape)
    # Both round to whole grey values, twice where one axis shrinks and the other grows.
    np.testing.assert_allclose(served[0].numpy().astype(int), exported.astype(int), atol=1)


@pytest.mark.parametrize("scale", ["full", "range:200,39000", "percentiles:1,99"])
@pytest.mark.parametrize("shape", [(30, 40, 1), (7, 9, 3)])
def test_the_graph_scales_deep_images_nearly_as_the_export_does(scale, shape):
    deep = np.random.default_rng(0).integers(0, 65536, (30, 40, shape[2])).astype(np.uint16)
    data = encoded(deep)
    served = preprocessing.decode_any_size(tf.constant([data]), described(shape, scale=scale))[0]
    exported = pixels(data, shape, scale=Scale.parse(scale))
    np.testing.assert_allclose(served.numpy().astype(int), exported.astype(int), atol=2)


def test_the_graph_refuses_8_bits_where_16_are_expected():
    batch = tf.constant([encoded(noise(4, 4, 1))])
    with pytest.raises(tf.errors.InvalidArgumentError, match="16 bits per channel"):
        preprocessing.decode_any_size(batch, described((4, 4, 1), scale="full"))


def test_the_graph_takes_jpeg_too_and_sizes_may_differ_within_a_batch():
    flat = np.full((30, 20, 3), (200, 100, 50), np.uint8)
    batch = tf.constant([encoded(flat, ".jpg"), encoded(flat[:8, :8])])
    served = preprocessing.decode_any_size(batch, described((8, 8, 3)))
    np.testing.assert_allclose(served, np.full((2, 8, 8, 3), (200, 100, 50)), atol=3)


def test_augmentation_is_a_function_of_its_seed():
    images = tf.constant(np.stack([noise(16, 16, 3, seed) for seed in range(8)]))

    def vary(seed):
        return preprocessing.augment(images, tf.constant(seed, tf.int64), shift=True, flip=True)

    np.testing.assert_array_equal(vary([1, 2]), vary([1, 2]))
    assert not np.array_equal(vary([1, 2]), vary([1, 3]))


def test_a_shift_moves_an_image_by_at_most_an_eighth():
    image = np.zeros((1, 16, 24, 1), np.uint8)
    image[0, 8, 12] = 255
    seen = set()
    for seed in range(200):
        moved = preprocessing.augment(tf.constant(image), tf.constant([0, seed]), shift=True)
        (row, column) = np.argwhere(moved.numpy()[0, ..., 0]).squeeze()
        seen.add((row - 8, column - 12))
    rows, columns = zip(*seen, strict=True)
    assert (min(rows), max(rows)) == (-2, 2)
    assert (min(columns), max(columns)) == (-3, 3)


def test_a_flip_mirrors_about_half_of_the_images():
    images = np.stack([noise(4, 4, 1, seed) for seed in range(200)])
    flipped = preprocessing.augment(tf.constant(images), tf.constant([0, 7]), flip=True).numpy()
    mirrored = (flipped == images[:, :, ::-1]).all(axis=(1, 2, 3))
    kept = (flipped == images).all(axis=(1, 2, 3))
    assert (mirrored | kept).all()
    assert 60 < mirrored.sum() < 140
