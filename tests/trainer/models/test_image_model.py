"""Models of images whose rows have columns, several images, or both."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer import models
from trainer.models.image_inputs import from_floats
from trainer.training import records, sample
from trellis_contracts.dataset_features import CATEGORICAL, IMAGE, NUMERIC, SEQUENCE, TEXT
from trellis_contracts.hyperparameters import Hyperparameters

IMAGES = {"left eye": (32, 40, 3), "right": (32, 32, 1)}
COLUMNS = {"age": NUMERIC, "site": CATEGORICAL, "pulse": SEQUENCE, "note": TEXT}
# VGG16 is the fastest to build of the networks of Keras.
SMALL = {"blocks": 2, "filters": 4, "weights": "none", "backbone": "VGG16"}


def rows(columns=COLUMNS, images=IMAGES, **more):
    """The description of rows with columns and images."""
    images = {name.replace(" ", "_"): shape for name, shape in images.items()}
    kinds = {**columns, **dict.fromkeys(images, IMAGE)}
    return sample.rows("binary_classification", 2, kinds, shapes=images, **more)


def taken(dataset, count=6):
    inputs, *_ = records.Records(dataset).parse(tf.constant(sample.made_up(dataset, count)))
    return inputs


def moved(inputs, name):
    """The inputs, in which one is another example's."""
    return {**inputs, name: tf.roll(inputs[name], 1, 0)}


@pytest.mark.parametrize(
    ("name", "scale"),
    [("convolutional", "full"), ("vision_transformer", None), ("backbone", None)],
)
def test_every_model_of_images_reads_each_image_and_the_columns_beside_it(name, scale):
    keras.utils.set_random_seed(3)
    dataset = rows(scale=scale)
    model = models.build(name, dataset, Hyperparameters(**SMALL))
    inputs = taken(dataset)
    images = {"image_left_eye", "image_right"}
    assert set(inputs) - images == {"numeric", "categorical", "sequence_pulse", "text_note"}
    wanted = model(inputs).numpy()
    for each in set(inputs) - images:
        assert not np.array_equal(model(moved(inputs, each)).numpy(), wanted), each
    pixels = {each: tf.cast(inputs[each], tf.float32) for each in images}
    with tf.GradientTape() as tape:
        tape.watch(pixels)
        outputs = from_floats(model, dataset)(inputs | pixels)
    np.testing.assert_allclose(outputs, wanted, atol=1e-6)
    for each, slope in tape.gradient(outputs, pixels).items():
        # Of every example: a network without trained weights makes little of an image.
        assert np.abs(slope).max(axis=(1, 2, 3)).all(), each


@pytest.mark.parametrize("name", ["convolutional", "vision_transformer", "backbone"])
def test_one_image_without_columns_has_the_weights_of_a_manifests(name):
    shape, h = (32, 32, 3), Hyperparameters(**SMALL)
    keras.utils.set_random_seed(3)
    of_rows = models.build(name, rows({}, {"photo": shape}), h)
    keras.utils.set_random_seed(3)
    alone = models.build(name, sample.images(shape, "binary_classification", 2), h)
    pixels = np.random.default_rng(0).integers(0, 256, (3, *shape), np.uint8)
    np.testing.assert_array_equal(of_rows({"image_photo": pixels}), alone(pixels))


@pytest.mark.parametrize("name", ["dense", "residual", "wide_and_deep", "recurrent", "transformer"])
def test_a_model_of_columns_has_no_input_for_the_images_beside_them(name):
    model = models.build(name, rows(), Hyperparameters())
    named = {tensor.name for tensor in model.inputs}
    assert named == {"numeric", "categorical", "sequence_pulse", "text_note"}


@pytest.mark.parametrize("name", ["dense", "residual"])
def test_without_columns_it_reads_the_pixels_of_every_image(name):
    dataset = rows(columns={})
    model = models.build(name, dataset, Hyperparameters())
    inputs = taken(dataset)
    wanted = model(inputs).numpy()
    for each in ("image_left_eye", "image_right"):
        assert not np.array_equal(model(moved(inputs, each)).numpy(), wanted)


def test_an_image_too_small_for_its_blocks_is_refused():
    with pytest.raises(models.ModelError, match="8x8 images to nothing: use at most 3"):
        models.build("convolutional", rows(images={"x": (8, 8, 1)}), Hyperparameters(blocks=4))
