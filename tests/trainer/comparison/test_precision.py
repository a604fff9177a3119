"""Average precision in resamples: exact on small splits, to first order on large ones."""

import numpy as np
import pytest

from trainer.comparison import bootstrap, precision
from trainer.comparison.outcome import Outcome


def test_to_first_order_the_interval_is_that_of_the_exact_one(outcome, weights):
    exact = np.array(list(precision.exact(outcome.rankings, weights)))
    first_order = precision.first_order(outcome.rankings, weights)
    low, high = bootstrap.interval(exact.mean(axis=0), 0.95)
    # It leaves out a bias, which is upwards: drawn twice, a positive has itself above it.
    assert bootstrap.interval(first_order.mean(axis=0), 0.95) == pytest.approx(
        (low, high), abs=0.15 * (high - low)
    )


def test_undisturbed_both_are_the_average_precision_itself(outcome):
    once = np.ones((1000, 1), dtype=np.int32)
    exact = np.array(list(precision.exact(outcome.rankings, once)))
    assert precision.first_order(outcome.rankings, once) == pytest.approx(exact, abs=1e-12)
    assert exact.mean() == pytest.approx(precision.macro_precision(outcome), abs=1e-12)


def test_what_one_example_more_changes_is_its_influence(outcome):
    """Also of equal scores: there are only ten different ones here."""
    few = Outcome(outcome.labels, outcome.probabilities.round(1))
    once = np.ones((1000, 1), dtype=np.int32)
    before = np.array(list(precision.exact(few.rankings, 1000 * once)))
    for example in (0, 123, 999):
        weights = 1000 * once
        weights[example] += 1
        change = np.array(list(precision.exact(few.rankings, weights))) - before
        expected = precision.first_order(few.rankings, weights / 1000) - before
        assert change == pytest.approx(expected, rel=0.01, abs=1e-9)


def test_large_splits_are_scored_to_first_order(outcome, weights, monkeypatch):
    exact = precision.macro_precision_resampled(outcome, weights)
    monkeypatch.setattr(precision, "EXACT_UP_TO", 4999)
    first_order = precision.macro_precision_resampled(outcome, weights)
    assert 0 < np.abs(first_order - exact).max() < 0.02


def test_classes_without_examples_are_left_out(outcome, weights):
    wider = Outcome(outcome.labels, np.column_stack([outcome.probabilities, np.zeros(1000)]))
    assert np.isnan(precision.first_order(wider.rankings, weights)[5]).all()
    assert np.isnan(list(precision.exact(wider.rankings, weights))[5]).all()
    assert precision.macro_precision(wider) == precision.macro_precision(outcome)


def test_a_rare_class_is_not_hidden_by_the_other():
    """Ten positives, each below 100 of 10,000 others: an AUC of 0.99, and little else."""
    labels = np.array([0] * 10_000 + [1] * 10)
    scores = np.concatenate([np.linspace(0, 1, 10_000), np.full(10, 0.98995)])
    outcome = Outcome(labels, np.column_stack([1 - scores, scores]))
    assert precision.macro_precision(outcome) == pytest.approx(10 / 111, abs=0.01)
