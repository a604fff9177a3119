"""Resamples are reproducible, and their intervals cover the true value as often as they claim."""

import numpy as np
import pytest

from trainer.comparison import bootstrap
from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.outcome import Outcome


def test_every_resample_draws_as_many_examples_as_there_are():
    weights = np.concatenate(list(bootstrap.draw(50, resamples=200)), axis=1)
    assert weights.shape == (50, 200)
    assert (weights.sum(axis=0) == 50).all()
    assert weights.mean() == 1


def test_the_resamples_do_not_depend_on_the_chunk_size(monkeypatch):
    whole = np.concatenate(list(bootstrap.draw(37, resamples=100)), axis=1)
    monkeypatch.setattr(bootstrap, "_CHUNK_ELEMENTS", 0)
    assert np.array_equal(whole, np.concatenate(list(bootstrap.draw(37, resamples=100)), axis=1))


def test_an_interval_leaves_out_undefined_resamples():
    samples = np.concatenate([np.linspace(0, 1, 1001), [np.nan] * 500])
    assert bootstrap.interval(samples, 0.95) == pytest.approx((0.025, 0.975))
    assert np.isnan(bootstrap.interval(np.array([np.nan, np.nan]), 0.95)).all()


@pytest.mark.slow
def test_the_interval_of_a_known_difference_covers_it(two_contenders):
    """120 test splits of 250 examples from a population whose true difference is known."""
    better, worse = two_contenders
    metrics = list(CLASSIFICATION_METRICS.values())
    truth = [metric.point(better) - metric.point(worse) for metric in metrics]
    random = np.random.default_rng(4)
    covered = np.zeros(len(metrics))
    for simulation in range(120):
        rows = random.integers(0, len(better.labels), 250)
        pair = [Outcome(o.labels[rows], o.probabilities[rows]) for o in (better, worse)]
        scores = bootstrap.resampled_scores(pair, metrics, resamples=300, seed=simulation)
        for i, difference in enumerate(scores[0] - scores[1]):
            low, high = bootstrap.interval(difference, 0.95)
            covered[i] += low <= truth[i] <= high
    # Five standard errors of a share of 95% in 120 simulations.
    assert (covered / 120 > 0.95 - 5 * (0.95 * 0.05 / 120) ** 0.5).all(), covered
