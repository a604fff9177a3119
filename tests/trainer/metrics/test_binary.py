"""Metrics of two classes: scikit-learn's of the positive one; intervals count its examples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from trainer.comparison.proportions import difference_interval, share_interval
from trainer.comparison.scoreboard import Scoreboard, metrics_for
from trainer.metrics import binary
from trainer.metrics.decision import Threshold
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome
from trellis_contracts.tasks import CLASSIFICATION

METRICS = binary.metrics()


@st.composite
def outcomes(draw):
    """Any labels and probabilities of two classes, ties among them, with or without a threshold."""
    n = draw(st.integers(2, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = random.random(n).round(draw(st.sampled_from([1, 2, 9])))
    above = draw(st.one_of(st.none(), st.floats(0, 1, width=32)))
    return Outcome(
        (random.random(n) < draw(st.sampled_from([0.05, 0.5, 0.9]))).astype(int),
        np.stack([1 - scores, scores], axis=1),
        threshold=None if above is None else Threshold(above),
    )


def scikit_learns(outcome):
    """Return scikit-learn's metrics with the second class as the positive one; NaN where nothing
    defines a score.
    """
    labels, taken = outcome.labels, outcome.predicted
    both = 0 < labels.sum() < len(labels)
    score = outcome.probabilities[:, 1]
    undefined = {"zero_division": np.nan}
    return {
        "average_precision": metrics.average_precision_score(labels, score) if both else np.nan,
        "auc": metrics.roc_auc_score(labels, score) if both else np.nan,
        "sensitivity": metrics.recall_score(labels, taken, **undefined),
        "specificity": metrics.recall_score(labels, taken, pos_label=0, **undefined),
        "ppv": metrics.precision_score(labels, taken, **undefined),
        "npv": metrics.precision_score(labels, taken, pos_label=0, **undefined),
    }


@settings(max_examples=40)
@given(outcome=outcomes())
def test_scores_are_scikit_learns_of_the_positive_class(outcome):
    expected = scikit_learns(outcome)
    found = {name: METRICS[name].point(outcome) for name in expected}
    assert found == pytest.approx(expected, nan_ok=True)


@settings(max_examples=40)
@given(outcome=outcomes(), seed=st.integers(0, 2**32 - 1))
def test_a_weighted_resample_scores_like_the_repeated_examples(outcome, seed):
    weights = np.random.default_rng(seed).integers(0, 4, len(outcome.labels)).astype(np.int32)
    weights[0] += 1
    rows = np.repeat(np.arange(len(weights)), weights)
    repeated = Outcome(
        outcome.labels[rows], outcome.probabilities[rows], threshold=outcome.threshold
    )
    for metric in METRICS.values():
        (value,) = metric.resampled(outcome, weights[:, None])
        assert value == pytest.approx(metric.point(repeated), abs=1e-9, nan_ok=True), metric.name


def test_names_say_whose_a_score_is_and_the_positive_class_comes_first():
    found = metrics_for(CLASSIFICATION, ("benign", "malignant"))
    assert next(iter(found)) == "average_precision"
    for name in ("average_precision", "sensitivity", "ppv"):
        assert "malignant" in found[name].title
        assert found[name].average == "positive class"
    for name in ("specificity", "npv"):
        assert "benign" in found[name].title
    assert "macro" in found["f1"].title


@pytest.fixture(scope="module")
def pair():
    """Two contenders on 400 examples, 30 of which are positive."""
    random = np.random.default_rng(5)
    labels = np.repeat([0, 1], [370, 30])
    made = {}
    for name, skill in (("a", 3), ("b", 2)):
        odds = skill * (labels - 0.5) + random.normal(size=400)
        p = 1 / (1 + np.exp(-odds))
        made[name] = Outcome(labels, np.stack([1 - p, p], axis=1))
    return made


def test_intervals_count_the_examples_of_which_the_score_is_a_share(pair):
    first, second = Scoreboard(pair, METRICS["auc"], classes=("no", "yes")).standings
    better, worse = pair[first.name], pair[second.name]
    of_class = better.labels == 1
    found = first.metrics["sensitivity"]
    expected = share_interval(better.correct[of_class], 0.95)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-6)
    found = first.metrics["ppv"]
    expected = share_interval(better.correct[better.predicted == 1], 0.95)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-6)
    found = second.difference.metrics["sensitivity"]
    expected = difference_interval(worse.correct[of_class], better.correct[of_class], 0.95)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-6)


def test_visits_of_a_patient_count_as_less_than_as_many_patients(pair):
    groups = Groups.named(np.arange(400) // 5)
    visits = Outcome(pair["a"].labels, pair["a"].probabilities, groups)
    alone, together = (
        Scoreboard({"a": one}, METRICS["auc"], classes=("no", "yes")).standings[0].metrics
        for one in (pair["a"], visits)
    )
    for name in ("sensitivity", "ppv"):
        assert alone[name].high - alone[name].low < together[name].high - together[name].low


def test_a_contender_that_never_decides_for_the_class_lacks_its_ppv_and_is_ranked(pair):
    never = Outcome(pair["a"].labels, np.tile([0.9, 0.1], (400, 1)))
    for metric, place in (("auc", -1), ("specificity", 0)):
        board = Scoreboard({**pair, "never": never}, METRICS[metric], classes=("no", "yes"))
        found = board.standings[place]
        assert found.name == "never"
        assert "ppv" not in found.metrics
        assert found.metrics["sensitivity"].value == 0
        assert "ppv" not in board.standings[-1].difference.metrics


def population(share, apart, seed=3, n=100_000):
    """Two classes, one of them rare, with probabilities of a logistic score: an Outcome."""
    random = np.random.default_rng(seed)
    labels = (random.random(n) < share).astype(int)
    score = random.normal(apart * labels, 1)
    positive = 1 / (1 + np.exp(-(score - apart / 2)))
    return Outcome(labels, np.column_stack([1 - positive, positive]))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("share", [0.5, 0.2, 0.07])
@pytest.mark.parametrize("apart", [0.5, 1.5, 3.0])
def test_the_interval_of_average_precision_covers_the_positive_classs(share, apart):
    """200 test splits of 200 examples: not the mean over both classes, which is near 1."""
    everyone = population(share, apart)
    metric = METRICS["average_precision"]
    true, simulations, covered = metric.point(everyone), 200, 0
    random = np.random.default_rng(5)
    for _ in range(simulations):
        rows = random.integers(0, len(everyone.labels), 200)
        drawn = Outcome(everyone.labels[rows], everyone.probabilities[rows])
        (standing,) = Scoreboard({"a": drawn}, metric).standings
        score = standing.metrics["average_precision"]
        covered += score.low <= true <= score.high
    print(share, apart, true, covered / simulations)
    # Three standard errors below 95% of 200.
    assert covered / simulations > 0.904
