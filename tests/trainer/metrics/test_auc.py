"""AUC in resamples: exact on small splits, to first order on large ones."""

import numpy as np
import pytest
from scipy import stats

from trainer.comparison import bootstrap
from trainer.metrics import auc
from trainer.metrics.outcome import Outcome


def test_to_first_order_the_interval_is_that_of_the_exact_auc(outcome, weights):
    exact = np.array(list(auc.exact_class_aucs(outcome, weights)))
    first_order = auc.first_order_class_aucs(outcome, weights)
    low, high = bootstrap.interval(exact.mean(axis=0), 0.95)
    assert bootstrap.interval(first_order.mean(axis=0), 0.95) == pytest.approx(
        (low, high), abs=0.03 * (high - low)
    )


def test_undisturbed_both_are_the_auc_itself(outcome):
    once = np.ones((1000, 1), dtype=np.int32)
    exact = np.array(list(auc.exact_class_aucs(outcome, once)))
    assert auc.first_order_class_aucs(outcome, once) == pytest.approx(exact, abs=1e-12)
    assert exact.mean() == pytest.approx(auc.macro_auc(outcome), abs=1e-12)


def test_large_splits_are_scored_to_first_order(outcome, weights, monkeypatch):
    exact = auc.macro_auc_resampled(outcome, weights)
    monkeypatch.setattr(auc, "EXACT_UP_TO", 4999)
    first_order = auc.macro_auc_resampled(outcome, weights)
    assert 0 < np.abs(first_order - exact).max() < 0.01


def test_classes_without_examples_are_left_out_to_first_order_too(outcome, weights):
    wider = Outcome(outcome.labels, np.column_stack([outcome.probabilities, np.zeros(1000)]))
    values = auc.first_order_class_aucs(wider, weights)
    assert np.isnan(values[5]).all()
    assert np.array_equal(values[:5], auc.first_order_class_aucs(outcome, weights))


def two_classes(random, n, apart):
    labels = (random.random(n) < 0.37).astype(int)
    labels[:2] = 0, 1
    scores = 1 / (1 + np.exp(-(random.normal(size=n) + apart * labels)))
    return Outcome(labels, np.column_stack([1 - scores, scores]))


@pytest.mark.parametrize(("n", "apart"), [(57, 3.6), (57, 1.5), (200, 2.7)])
def test_newcombes_interval_covers_the_truth_however_close_to_1(n, apart):
    truth = stats.norm.cdf(apart / np.sqrt(2))
    random = np.random.default_rng(8)
    covered = 0
    for _ in range(200):
        outcome = two_classes(random, n, apart)
        low, high = auc.newcombe_interval(auc.macro_auc(outcome), outcome, 0.95)
        covered += low <= truth <= high
    # Three standard errors below 95% of 200.
    assert covered > 0.90 * 200


def test_a_perfect_order_of_few_examples_is_not_certain():
    outcome = Outcome(np.arange(40) % 2, np.eye(2)[np.arange(40) % 2])
    low, high = auc.newcombe_interval(1.0, outcome, 0.95)
    assert 0.8 < low < 0.95
    assert high == 1
    # Turned round, it is as sure to be wrong.
    assert auc.newcombe_interval(0.0, outcome, 0.95) == pytest.approx((0, 1 - low))


@pytest.mark.parametrize("value", [0.0, 1e-9, 0.3, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("positive", [1, 5, 5000])
def test_the_estimate_lies_in_newcombes_interval(value, positive):
    labels = (np.arange(10_000) < positive).astype(int)
    outcome = Outcome(labels, np.full((10_000, 2), 0.5))
    low, high = auc.newcombe_interval(value, outcome, 0.95)
    assert 0 <= low <= value <= high <= 1
