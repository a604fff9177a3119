"""Models of all sizes: what goes in, what comes out, and when one cannot be built."""

import keras
import numpy as np
import pytest

from trainer import models
from trainer.models import ModelError
from trainer.training import sample
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.models import MODELS

# The backbone: test_backbone.py.
OF_IMAGES = [
    name
    for name, model in MODELS.items()
    if model.fits({"image"}, "multiclass_classification") and name != "backbone"
]


def images(shape, classes=2):
    """The description of a dataset of images."""
    return sample.images(shape, "multiclass_classification", classes)


@pytest.mark.parametrize("name", OF_IMAGES)
@pytest.mark.parametrize("shape", [(8, 8, 1), (7, 12, 3), (224, 224, 3)])
def test_pixels_in_logits_out(name, shape):
    model = models.build(name, images(shape, 5), Hyperparameters())
    logits = model(np.zeros((2, *shape), np.uint8))
    assert logits.shape == (2, 5)
    assert model.name == name


def test_blocks_halve_the_image_down_to_one_pixel():
    model = models.build("convolutional", images((8, 8, 1)), Hyperparameters(blocks=3, filters=4))
    pools = [layer for layer in model.layers if isinstance(layer, keras.layers.MaxPooling2D)]
    assert pools[-1].output.shape == (None, 1, 1, 16)


@pytest.mark.parametrize(
    ("shape", "advice"), [((8, 9, 1), "use at most 3"), ((1, 9, 1), "use the dense model")]
)
def test_more_blocks_than_the_image_has_pixels_for(shape, advice):
    with pytest.raises(ModelError, match=f"blocks=4 would halve .* to nothing: {advice}"):
        models.build("convolutional", images(shape), Hyperparameters(blocks=4))


def test_filters_double_up_to_512():
    model = models.build(
        "convolutional", images((64, 64, 1)), Hyperparameters(blocks=3, filters=200)
    )
    widths = [layer.filters for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    assert widths == [200, 200, 400, 400, 512, 512]


@pytest.mark.parametrize("name", OF_IMAGES)
def test_no_model_keeps_statistics_of_its_own_data(name):
    """They would differ between workers (trainer.models.convolutional)."""
    model = models.build(name, images((8, 8, 1)), Hyperparameters())
    assert len(model.weights) == len(model.trainable_weights)


def test_dropout_acts_in_training_only():
    model = models.build("dense", images((8, 8, 1)), Hyperparameters(dropout=0.5))
    image = np.full((1, 8, 8, 1), 200, np.uint8)
    assert np.array_equal(model(image, training=False), model(image, training=False))
    assert not np.array_equal(model(image, training=True), model(image, training=True))
