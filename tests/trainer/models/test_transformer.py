"""Places, means and limits of the models with attention."""

import dataclasses
import math

import numpy as np
import pytest

from tests.trainer.models.test_inputs import a_table, rows
from tests.trainer.models.test_models import images
from trainer import models
from trainer.models import ModelError, vision_transformer
from trainer.models.transformer import Mean, Places
from trellis_contracts.hyperparameters import Hyperparameters


def test_places_are_the_papers_waves():
    steps = Places(limit=50, width=4)(np.zeros((1, 50, 4), np.float32), np.ones((1, 50), bool))
    place = 37
    expected = [math.sin(37), math.cos(37), math.sin(37 / 100), math.cos(37 / 100)]
    np.testing.assert_allclose(steps[0, place], expected, rtol=1e-5)


def test_what_is_not_there_takes_no_place():
    mask = np.array([[False, True, False, True, True, False]])
    gaps = Places(8, 6)(np.zeros((1, 6, 6), np.float32), mask).numpy()[0]
    dense = Places(8, 6)(np.zeros((1, 3, 6), np.float32), np.ones((1, 3), bool)).numpy()[0]
    np.testing.assert_array_equal(gaps[mask[0]], dense)


def test_the_mean_is_over_what_is_there():
    steps = np.array([[[1, 2], [3, 6], [50, 50]], [[1, 1], [2, 2], [3, 3]]], np.float32)
    mean = Mean()(steps, np.array([[True, True, False], [False] * 3]))
    np.testing.assert_allclose(mean, [[2, 4], [0, 0]])


def test_steps_attend_to_each_other():
    """Else the mean would not tell which of two values stands beside which."""
    model = models.build("transformer", a_table(), Hyperparameters())
    one, other = (
        model(rows([[a, b, c, d], [0, 0, 0, 0]])).numpy()[0]
        for a, b, c, d in ((1, 2, 3, 4), (1, 2, 3, 40))
    )
    assert np.abs(one - other).max() > 1e-3


def test_sequences_too_long_to_compare_all_with_all_are_refused():
    table = a_table()
    *others, sequence = table.features
    long = dataclasses.replace(sequence.statistics, max_length=5000)
    sequence = dataclasses.replace(sequence, statistics=long)
    with pytest.raises(ModelError, match=r"5,000 elements, and transformer.*up to 2,048"):
        models.build("transformer", a_table(features=(*others, sequence)), Hyperparameters())


@pytest.mark.parametrize(
    ("shape", "patches"), [((224, 224, 3), 49), ((224, 224, 1), 49), ((30, 20, 3), 24)]
)
def test_an_image_is_cut_into_whole_patches(shape, patches):
    model = models.build("vision_transformer", images(shape), Hyperparameters(patches=7))
    places = next(layer for layer in model.layers if isinstance(layer, vision_transformer.Places))
    assert places.output.shape == (None, patches, 64)


def test_a_patchs_place_matters():
    """Learned places are small at first; made large, moving a patch changes the answer."""
    model = models.build("vision_transformer", images((8, 8, 1)), Hyperparameters(patches=2))
    image = np.zeros((1, 8, 8, 1), np.uint8)
    image[:, :4, :4] = 250
    moved = image[:, ::-1]
    places = next(layer for layer in model.layers if isinstance(layer, vision_transformer.Places))
    places.set_weights([np.zeros((4, 64))])
    np.testing.assert_allclose(model(image), model(moved), atol=1e-5)
    places.set_weights([np.random.default_rng(0).normal(size=(4, 64))])
    assert np.abs(model(image) - model(moved)).max() > 1e-3
