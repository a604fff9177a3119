"""Calibration error: the published interval holds where the plain bootstrap does not."""

import numpy as np
import pytest

from trainer.comparison import bootstrap
from trainer.metrics.calibration import (
    calibration_error,
    calibration_error_resampled,
    calibration_interval,
)
from trainer.metrics.outcome import Outcome


def population(temperature, n=100_000, classes=4):
    """Examples of a classifier: perfectly calibrated at temperature 1, overconfident above."""
    random = np.random.default_rng(6)
    logits = random.normal(scale=3, size=(n, classes))

    def probabilities(scale):
        powers = np.exp(scale * (logits - logits.max(axis=1, keepdims=True)))
        return powers / powers.sum(axis=1, keepdims=True)

    true = (probabilities(1).cumsum(axis=1) > random.random((n, 1))).argmax(axis=1)
    return Outcome(true, probabilities(temperature))


def intervals(whole, simulations, n=180):
    random = np.random.default_rng(7)
    for simulation in range(simulations):
        rows = random.integers(0, len(whole.labels), n)
        outcome = Outcome(whole.labels[rows], whole.probabilities[rows])
        weights = np.concatenate(list(bootstrap.draw(n, 400, seed=simulation)), axis=1)
        samples = calibration_error_resampled(outcome, weights)
        value = calibration_error(outcome)
        yield value, calibration_interval(outcome, value, samples, 0.95)


@pytest.mark.parametrize(
    "temperature", [1.5, *(pytest.param(t, marks=pytest.mark.slow) for t in (0.6, 1.0))]
)
def test_the_interval_covers_the_truth(temperature):
    whole = population(temperature)
    truth = calibration_error(whole)
    covered = [low <= truth <= high for _, (low, high) in intervals(whole, 100)]
    # Four standard errors below 95% of 100.
    assert np.mean(covered) > 0.862


def test_a_calibrated_classifier_is_not_accused():
    lows = [low for _, (low, _) in intervals(population(1.0), 60)]
    assert np.mean(np.array(lows) == 0) > 0.9


def test_an_overconfident_classifier_is():
    lows = [low for _, (low, _) in intervals(population(4.0), 60)]
    assert np.mean(np.array(lows) > 0) > 0.9


def test_the_estimate_lies_in_its_interval():
    for value, (low, high) in intervals(population(1.2), 20):
        assert low <= value <= high
