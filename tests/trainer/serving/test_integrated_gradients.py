import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.serving import integrated_gradients


def attributions(score_and_gradient, image, baseline, steps=16):
    found = integrated_gradients.integrate(score_and_gradient, image, baseline, steps)
    expected, _ = score_and_gradient(np.stack([np.full_like(image, baseline), image]))
    assert (found.baseline_score, found.score) == pytest.approx(expected)
    return found.attributions


def test_of_a_quadratic_score_the_attributions_are_exact():
    """score = sum of weight * pixel ** 2: from 0, a pixel's attribution is weight * pixel ** 2."""
    random = np.random.default_rng(0)
    image = random.uniform(0, 255, (5, 7, 3)).astype(np.float32)
    weight = random.normal(size=image.shape)
    found = attributions(
        lambda images: ((weight * images**2).sum(axis=(1, 2, 3)), 2 * weight * images), image, 0.0
    )
    assert found == pytest.approx((weight * image**2).sum(axis=-1), rel=1e-4)


def linear(images):
    return images.sum(axis=(1, 2, 3)), np.ones_like(images)


def test_they_begin_at_the_baseline():
    image = np.full((2, 2, 1), 200, np.float32)
    assert attributions(linear, image, 255.0) == pytest.approx(np.full((2, 2), -55))
    assert not attributions(linear, image, 200.0).any()


@pytest.mark.parametrize("steps", [16, 17, 31, 50, 300])
def test_as_many_gradients_are_asked_for_as_there_are_steps(steps):
    asked = []
    integrated_gradients.integrate(
        lambda images: asked.append(len(images)) or linear(images),
        np.ones((1, 1, 1), np.float32),
        0.0,
        steps,
    )
    assert sum(asked) == steps
    assert asked[0] == steps // 4


def test_a_score_that_is_decided_at_the_very_beginning():
    """A network that normalizes contrast has such scores: evenly spaced steps see nothing of it."""
    image = np.full((4, 4, 1), 100, np.float32)

    def sharp(images):
        mean = images.mean(axis=(1, 2, 3), dtype=np.float64)
        slope = 50 * (1 - np.tanh(50 * mean) ** 2) / 16
        return np.tanh(50 * mean), np.broadcast_to(slope[:, None, None, None], images.shape)

    even = np.linspace(0, 100, 50)
    assert np.trapezoid(50 * (1 - np.tanh(50 * even) ** 2), even) > 50
    assert attributions(sharp, image, 0.0, steps=50).sum() == pytest.approx(1, abs=0.1)
    assert attributions(sharp, image, 0.0, steps=100).sum() == pytest.approx(1, abs=0.01)


MAPS = st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6).map(
    lambda values: np.array(values).reshape(2, 3)
)


@given(MAPS)
def test_a_map_is_read_as_it_was_written(attributions):
    png, scale = integrated_gradients.to_png(attributions)
    read = integrated_gradients.from_png(png, scale)
    assert read == pytest.approx(attributions, abs=scale / 65534 * 1.001)


def test_a_map_of_nothing():
    png, scale = integrated_gradients.to_png(np.zeros((3, 3)))
    assert scale == 0
    assert not integrated_gradients.from_png(png, scale).any()
