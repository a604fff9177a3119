"""Metrics of a regression: scikit-learn's, the same in resamples, intervals that hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trainer.comparison.scoreboard import Scoreboard, ScoringError, decimals, metric_named
from trainer.metrics.regression import REGRESSION_METRICS, ValueOutcome
from trellis_contracts.tasks import REGRESSION

METRICS = list(REGRESSION_METRICS.values())
RMSE = REGRESSION_METRICS["rmse"]


def point(name, outcome):
    return REGRESSION_METRICS[name].point(outcome)


@st.composite
def outcomes_with_weights(draw):
    n = draw(st.integers(2, 30))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    digits = draw(st.sampled_from([0, 1, 9]))  # few digits make ties
    labels = random.normal(1000, 3, n).round(digits)
    values = (labels + random.normal(0, 2, n)).round(digits)
    weights = random.integers(0, 4, n).astype(np.int32)
    weights[0] += 1
    return ValueOutcome(labels, values), weights


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@settings(max_examples=60)
@given(drawn=outcomes_with_weights())
def test_a_weighted_resample_scores_like_the_repeated_examples(metric, drawn):
    outcome, weights = drawn
    rows = np.repeat(np.arange(len(weights)), weights)
    repeated = ValueOutcome(outcome.labels[rows], outcome.values[rows])
    resampled = metric.resampled(outcome, weights[:, None])
    assert resampled.shape == (1,)
    assert resampled[0] == pytest.approx(metric.point(repeated), rel=1e-6, abs=1e-9, nan_ok=True)


def test_the_metrics_are_what_their_names_say():
    outcome = ValueOutcome(np.array([1.0, 2.0, 3.0, 10.0]), np.array([1.0, 4.0, 2.0, 14.0]))
    assert point("rmse", outcome) == pytest.approx(np.sqrt((0 + 4 + 1 + 16) / 4))
    assert point("mae", outcome) == pytest.approx(7 / 4)
    assert point("median_absolute_error", outcome) == pytest.approx(1.5)
    assert point("r2", outcome) == pytest.approx(1 - 21 / 50)


def test_equal_labels_leave_r2_undefined():
    outcome = ValueOutcome(np.full(5, 0.1), np.arange(5.0))
    assert np.isnan(point("r2", outcome))
    assert "r2" not in Scoreboard({"a": outcome}, RMSE).standings[0].metrics
    with pytest.raises(
        ScoringError, match="r2 is undefined on this test split, which has equal labels"
    ):
        Scoreboard({"a": outcome}, REGRESSION_METRICS["r2"])


def test_loss_ranks_by_the_rmse():
    assert metric_named("loss", REGRESSION).name == "rmse"
    with pytest.raises(
        ScoringError, match="unknown metric 'auc' for a regression; expected one of rmse"
    ):
        metric_named("auc", REGRESSION)


@pytest.mark.parametrize(("spread", "expected"), [(1.5, 6), (12, 5), (3.4e6, 0), (2e-6, 12)])
def test_decimals_follow_the_labels_unit(spread, expected):
    labels = np.array([-spread, spread])
    assert decimals(RMSE, labels) == expected
    assert decimals(REGRESSION_METRICS["r2"], labels) == 6


def test_the_closest_is_winner_and_differences_are_paired():
    random = np.random.default_rng(1)
    labels = random.normal(size=400)
    noise = random.normal(size=400)
    outcomes = {
        "a": ValueOutcome(labels, labels + 1.1 * noise),  # always a tenth further off
        "b": ValueOutcome(labels, labels + noise),
    }
    first, second = Scoreboard(outcomes, RMSE).standings
    assert (first.name, second.name) == ("b", "a")
    assert (second.difference.won_by_winner, second.difference.won_by_this) == (400, 0)
    assert second.difference.distinguishable
    # The two intervals overlap by far; that of the difference leaves out zero.
    assert first.metrics["rmse"].high > second.metrics["rmse"].low


def test_a_perfect_regression_has_intervals_too():
    labels = np.arange(10.0)
    estimate = Scoreboard({"a": ValueOutcome(labels, labels)}, RMSE).standings[0].metrics["rmse"]
    assert (estimate.value, estimate.low, estimate.high) == (0, 0, 0)


def test_constant_misses_have_no_spread():
    labels = np.arange(10.0)
    estimate = (
        Scoreboard({"a": ValueOutcome(labels, labels + 2)}, RMSE).standings[0].metrics["rmse"]
    )
    assert (estimate.low, estimate.high) == pytest.approx((2, 2))


def coverage(simulations, n, noise, seed):
    """Return how often the published intervals hold the truth: (scores, differences) by metric.

    Two contenders whose errors correlate, of known size: the worse one's are larger by half.
    """
    random = np.random.default_rng(seed)
    labels = random.normal(50, 10, 400_000)
    shared = noise.rvs(size=len(labels), random_state=random)
    apart = noise.rvs(size=len(labels), random_state=random)
    whole = {
        "better": ValueOutcome(labels, labels + shared),
        "worse": ValueOutcome(labels, labels + 0.9 * shared + 1.2 * apart),
    }
    truth = {(k, m): point(m, o) for k, o in whole.items() for m in REGRESSION_METRICS}
    scores = dict.fromkeys(REGRESSION_METRICS, 0)
    differences = dict.fromkeys(REGRESSION_METRICS, 0)
    for _ in range(simulations):
        rows = random.integers(0, len(labels), n)
        drawn = {k: ValueOutcome(o.labels[rows], o.values[rows]) for k, o in whole.items()}
        winner, other = Scoreboard(drawn, RMSE).standings
        for metric in REGRESSION_METRICS:
            score, difference = other.metrics[metric], other.difference.metrics[metric]
            true = truth[other.name, metric]
            scores[metric] += score.low <= true <= score.high
            true -= truth[winner.name, metric]
            differences[metric] += difference.low <= true <= difference.high
    print({metric: (scores[metric], differences[metric]) for metric in scores}, "of", simulations)
    return scores, differences


@pytest.mark.slow
def test_published_intervals_cover_the_truth():
    scores, differences = coverage(30, 150, stats.norm, seed=3)
    # Four standard errors of a share of 95% in 30 simulations are 16%.
    assert min(scores.values()) >= 0.79 * 30
    assert min(differences.values()) >= 0.79 * 30


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("noise", [stats.norm, stats.laplace], ids=["normal", "laplace"])
def test_published_intervals_cover_the_truth_in_500_simulations(noise):
    scores, differences = coverage(500, 200, noise, seed=5)
    for counts in (scores, differences):
        assert min(counts.values()) > 0.92 * 500
        assert max(counts.values()) < 0.99 * 500
