"""Average precision in resamples: exact on small splits, to first order on large ones."""

import numpy as np
import pytest

from trainer.comparison import bootstrap
from trainer.comparison.scoreboard import Scoreboard
from trainer.metrics import precision
from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome

METRIC = CLASSIFICATION_METRICS["average_precision"]


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


def weak(n, share, seed):
    """Scores that know little of two classes."""
    random = np.random.default_rng(seed)
    labels = (random.random(n) < share).astype(int)
    scores = 1 / (1 + np.exp(-random.normal(size=n) - 0.5 * labels))
    return Outcome(labels, np.column_stack([1 - scores, scores]))


@pytest.mark.parametrize("classes", [2, 5])
def test_its_standard_error_is_that_of_the_bootstrap(outcome, weights, classes):
    tried = outcome if classes == 5 else weak(3000, 0.3, seed=1)
    drawn = weights if classes == 5 else np.hstack(list(bootstrap.draw(3000, 400)))
    value = precision.macro_precision(tried)
    low, high = precision.logit_interval(value, tried, 0.95)
    resampled = precision.macro_precision_resampled(tried, drawn)
    assert (high - low) / (2 * 1.96) == pytest.approx(resampled.std(), rel=0.1)
    assert np.log(low / (1 - low)) + np.log(high / (1 - high)) == pytest.approx(
        2 * np.log(value / (1 - value))
    )


def test_groups_of_equal_examples_count_as_one_each():
    once = weak(300, 0.2, seed=2)
    five = Outcome(
        np.repeat(once.labels, 5),
        np.repeat(once.probabilities, 5, axis=0),
        groups=Groups.named(np.repeat(np.arange(300), 5)),
    )
    value = precision.macro_precision(once)
    low, high = precision.logit_interval(value, once, 0.95)
    assert precision.logit_interval(precision.macro_precision(five), five, 0.95) == pytest.approx(
        (low, high), rel=0.05
    )


def test_of_a_perfect_order_only_the_pseudo_errors_know():
    labels = np.arange(100) % 2
    perfect = Outcome(labels, np.column_stack([1 - labels, labels]).astype(float))
    assert precision.logit_interval(1.0, perfect, 0.95) == (1, 1)
    (standing,) = Scoreboard({"a": perfect}, METRIC).standings
    estimate = standing.metrics["average_precision"]
    assert estimate.low < 0.99 < estimate.high == 1


def test_the_interval_of_a_weak_model_spans_both():
    tried = weak(300, 0.1, seed=3)
    (standing,) = Scoreboard({"a": tried}, METRIC).standings
    estimate = standing.metrics["average_precision"]
    drawn = np.hstack(list(bootstrap.draw(300)))
    parts = [
        precision.logit_interval(estimate.value, tried, 0.95),
        bootstrap.interval(precision.macro_precision_resampled(tried, drawn), 0.95),
    ]
    for low, high in parts:
        assert estimate.low <= low + 1e-6
        assert estimate.high >= high - 1e-6
    assert estimate.low == pytest.approx(parts[0][0], abs=1e-6)
