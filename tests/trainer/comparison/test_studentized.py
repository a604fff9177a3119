"""Intervals of mean errors: hold on small splits of skewed errors, where percentiles do not."""

import numpy as np
import pytest

from trainer.comparison import bootstrap, studentized


def simulated(terms, resamples=300, seed=1):
    """(studentized, percentile) intervals of the root of the mean of these terms."""
    weights = np.concatenate(list(bootstrap.draw(len(terms), resamples)), axis=1)
    samples = np.sqrt(terms @ weights / len(terms))
    value = float(np.sqrt(terms.mean()))
    return studentized.interval(terms, value, samples, 0.95), bootstrap.interval(samples, 0.95)


def test_it_covers_more_of_a_skewed_errors_root_mean_square_than_percentiles():
    random = np.random.default_rng(2)
    truth = np.sqrt(2)  # of Laplace's distribution
    covered = np.zeros(2)
    for _ in range(200):
        found = simulated(random.laplace(size=30) ** 2)
        covered += [low <= truth <= high for low, high in found]
    better, plain = covered / 200
    assert better > 0.85
    assert better > plain + 0.04


def test_the_score_lies_in_its_interval_and_large_errors_widen_it_upwards():
    terms = np.random.default_rng(3).normal(size=200) ** 2
    (low, high), _ = simulated(terms)
    value = np.sqrt(terms.mean())
    assert low < value < high
    terms[0] = 100
    (_, higher), _ = simulated(terms)
    assert higher - np.sqrt(terms.mean()) > 2 * (high - value)


def test_on_large_splits_it_is_the_percentile_interval(monkeypatch):
    terms = np.random.default_rng(4).normal(size=1000) ** 2
    found, plain = simulated(terms)
    assert found == pytest.approx(plain, rel=0.02)
    monkeypatch.setattr(studentized, "_PERCENTILE_FROM", 1000)
    found, plain = simulated(terms)
    assert found == plain
