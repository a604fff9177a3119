"""Calibration finds a temperature that is known, does what scikit-learn does, and is one function
for NumPy and TensorFlow.
"""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from trainer import calibration
from trainer.metrics.calibration import calibration_error
from trainer.metrics.outcome import Outcome
from trellis_contracts.held_out import ISOTONIC, METHODS, TEMPERATURE

NAMES = ("a", "b", "c", "d")


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def drawn(examples, classes, temperature, seed=0):
    """Labels, and the probabilities of a model whose logits are too large by this factor."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(examples, classes)) * 1.5
    truth = softmax(logits)
    labels = (truth.cumsum(axis=1) > random.random((examples, 1))).argmax(axis=1)
    return labels, softmax(temperature * logits).astype(np.float32), truth


def drawn_sets(examples, classes, temperature, seed=0):
    """Draw a multi-label task: labels are (n, classes) bool."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(examples, classes)) * 1.5
    truth = 1 / (1 + np.exp(-logits))
    labels = random.random((examples, classes)) < truth
    return labels, (1 / (1 + np.exp(-temperature * logits))).astype(np.float32), truth


@pytest.mark.parametrize("draw", [drawn, drawn_sets])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_temperature_that_is_known_is_found(draw, temperature, classes):
    labels, probabilities, truth = draw(20_000, classes, temperature)
    names = NAMES[:classes]
    fitted = calibration.fit(TEMPERATURE, labels, probabilities, names)
    assert fitted.temperature == pytest.approx(temperature, rel=0.05)
    found = calibration.apply(fitted, probabilities, names, draw is drawn_sets)
    np.testing.assert_allclose(found, truth, atol=0.02)
    assert found.dtype == np.float32


@pytest.mark.parametrize("draw", [drawn, drawn_sets])
def test_isotonic_finds_the_true_probabilities(draw):
    labels, probabilities, truth = draw(50_000, 2, 3.0)
    fitted = calibration.fit(ISOTONIC, labels, probabilities, NAMES[:2])
    found = calibration.apply(fitted, probabilities, NAMES[:2], draw is drawn_sets)
    assert np.abs(found - truth).mean() < 0.01


class Model(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose features are its probabilities."""

    def __init__(self, classes=2):
        self.classes = classes

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return np.arange(self.classes)

    def fit(self, x, y):
        return self

    def predict(self, x):
        return x.argmax(axis=1)

    def predict_proba(self, x):
        return x


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn_calibrates_alike(method, classes, seed):
    labels, probabilities, _ = drawn(600, classes, 2.0, seed)
    _, others, _ = drawn(300, classes, 2.0, seed + 100)
    theirs = CalibratedClassifierCV(FrozenEstimator(Model(classes)), method=method)
    theirs.fit(probabilities.astype(np.float64), labels)
    expected = theirs.predict_proba(others.astype(np.float64))
    fitted = calibration.fit(method, labels, probabilities, NAMES[:classes])
    found = calibration.apply(fitted, others, NAMES[:classes], sets=False)
    # Their search for the temperature ends at a tolerance of its own.
    np.testing.assert_allclose(found, expected, atol=2e-4 if method == TEMPERATURE else 1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("draw", "classes"), [(drawn, 2), (drawn, 4), (drawn_sets, 3)])
def test_a_graph_calibrates_as_numpy_does(method, draw, classes):
    labels, probabilities, _ = draw(500, classes, 2.0)
    names, sets = NAMES[:classes], draw is drawn_sets
    fitted = calibration.fit(method, labels, probabilities, names)
    # Probabilities that were not in the split, 0 and 1 among them.
    others = np.eye(classes, dtype=np.float32)
    asked = np.concatenate([draw(200, classes, 4.0, 9)[1], others])

    @tf.function(input_signature=[tf.TensorSpec([None, classes], tf.float32)])
    def graph(p):
        return calibration.apply(fitted, p, names, sets, tf.experimental.numpy)

    expected = calibration.apply(fitted, asked, names, sets)
    answered = graph(asked)
    assert answered.dtype == tf.float32
    np.testing.assert_allclose(answered.numpy(), expected, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_the_calibration_error_of_other_examples_falls(method):
    labels, probabilities, _ = drawn(2000, 3, 3.0)
    fitted = calibration.fit(method, labels, probabilities, NAMES[:3])
    test_labels, raw, _ = drawn(2000, 3, 3.0, seed=1)
    before = calibration_error(Outcome(test_labels, raw))
    found = calibration.apply(fitted, raw, NAMES[:3], sets=False)
    assert calibration_error(Outcome(test_labels, found)) < before / 3


def test_a_split_without_an_error_bounds_no_temperature():
    _, probabilities, _ = drawn(100, 3, 1.0)
    right = probabilities.argmax(axis=1)
    fitted = calibration.fit(TEMPERATURE, right, probabilities, NAMES[:3])
    assert fitted.temperature == 1
    assert "is right" in fitted.remark
    found = calibration.apply(fitted, probabilities, NAMES[:3], sets=False)
    np.testing.assert_allclose(found, probabilities, atol=1e-6)


@given(
    rows=st.lists(
        st.tuples(*[st.floats(0, 1, width=32)] * 3).filter(lambda row: sum(row) > 0.01),
        min_size=1,
        max_size=20,
    ),
    method=st.sampled_from([*METHODS]),
    temperature=st.floats(0.1, 10),
    sets=st.booleans(),
)
def test_probabilities_remain_probabilities(rows, method, temperature, sets):
    labels, probabilities, _ = (drawn_sets if sets else drawn)(300, 3, temperature)
    fitted = calibration.fit(method, labels, probabilities, NAMES[:3])
    asked = np.array(rows, np.float32)
    asked = asked if sets else asked / asked.sum(axis=1, keepdims=True)
    found = calibration.apply(fitted, asked, NAMES[:3], sets)
    assert ((found >= 0) & (found <= 1)).all()
    if not sets:
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    if method == TEMPERATURE and not sets:
        # The most probable class remains so.
        places = np.arange(len(asked)), asked.argmax(axis=1)
        assert (found[places] >= found.max(axis=1) - 1e-6).all()


def test_without_a_calibration_the_probabilities_are_the_models():
    _, probabilities, _ = drawn(5, 3, 1.0)
    assert calibration.apply(None, probabilities, NAMES[:3], sets=False) is probabilities
