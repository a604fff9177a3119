"""Metrics of predictions of any number of classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from trainer import label_sets
from trainer.comparison import bootstrap
from trainer.comparison.scoreboard import Scoreboard, ScoringError, metric_named
from trainer.metrics.groups import Groups
from trainer.metrics.multilabel import MULTILABEL_METRICS
from trainer.metrics.set_outcome import SetOutcome
from trellis_contracts.tasks import MULTILABEL


def drawn(random, n=60, classes=4, strength=1.5, groups=None):
    """Sets of classes, and probabilities that tell something of them."""
    true = random.random((n, classes)) < random.uniform(0.15, 0.6, classes)
    scores = strength * (true - 0.5) + random.normal(0, 1, true.shape)
    labels = np.array([label_sets.of(np.flatnonzero(row).tolist()) for row in true])
    return SetOutcome(labels, 1 / (1 + np.exp(-np.round(scores, 1))), groups)


def test_a_mean_over_the_classes_is_that_of_scikit_learn():
    outcome = drawn(np.random.default_rng(1), 300)
    true, decided, shares = outcome.true, outcome.decided, outcome.probabilities
    known = {
        "accuracy": 1 - sklearn_metrics.hamming_loss(true, decided),
        "exact_match": sklearn_metrics.accuracy_score(true, decided),
        "f1": sklearn_metrics.f1_score(true, decided, average="macro"),
        "auc": sklearn_metrics.roc_auc_score(true, shares, average="macro"),
        "average_precision": sklearn_metrics.average_precision_score(true, shares),
    }
    for name, value in known.items():
        assert MULTILABEL_METRICS[name].point(outcome) == pytest.approx(value)


@pytest.mark.parametrize("name", MULTILABEL_METRICS)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_resample_is_scored_as_its_examples_are(name, seed):
    random = np.random.default_rng(seed)
    outcome, metric = drawn(random, 30), MULTILABEL_METRICS[name]
    weights = next(bootstrap.draw(30, 4, seed))
    found = metric.resampled(outcome, weights)
    for column, value in zip(weights.T, found, strict=True):
        rows = np.repeat(np.arange(30), column)
        alone = SetOutcome(outcome.labels[rows], outcome.probabilities[rows])
        if len(alone.mixed_classes) == len(outcome.mixed_classes):
            assert value == pytest.approx(metric.point(alone))


def test_a_first_order_is_near_the_whole(monkeypatch):
    outcome = drawn(np.random.default_rng(2), 2000)
    weights = next(bootstrap.draw(2000, 50, 3))
    for name in ("auc", "average_precision"):
        metric = MULTILABEL_METRICS[name]
        whole = metric.resampled(outcome, weights)
        monkeypatch.setattr("trainer.metrics.multilabel.EXACT_UP_TO", 0)
        np.testing.assert_allclose(metric.resampled(outcome, weights), whole, atol=0.003)
        monkeypatch.undo()


def test_classes_that_all_or_no_examples_have_are_left_out_of_means():
    true = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 0], [0, 1, 0]], bool)
    labels = np.array([label_sets.of(np.flatnonzero(row).tolist()) for row in true])
    outcome = SetOutcome(labels, np.where(true, 0.9, 0.2))
    assert outcome.mixed_classes.tolist() == [0]
    assert all(metric.point(outcome) == 1 for metric in MULTILABEL_METRICS.values()
               if metric.goal == "maximize")  # fmt: skip
    untold = SetOutcome(labels | 1, np.where(true, 0.9, 0.2))
    with pytest.raises(ScoringError, match="has classes that all of its examples have, or none"):
        Scoreboard({"training/1": untold}, metric_named("auc", MULTILABEL))


def test_without_an_error_the_interval_still_has_a_width():
    outcome = drawn(np.random.default_rng(4), 100, strength=40)
    board = Scoreboard({"training/1": outcome}, metric_named("auc", MULTILABEL))
    for name in ("auc", "f1", "average_precision", "balanced_accuracy", "accuracy", "exact_match"):
        score = board.standings[0].metrics[name]
        assert (score.value, score.high) == (1, 1)
        assert 0.85 < score.low < 0.999


def test_the_better_of_two_wins_and_groups_widen_the_interval():
    random = np.random.default_rng(5)
    good = drawn(random, 200, strength=3)
    noise = random.random(good.probabilities.shape)
    bad = SetOutcome(good.labels, (good.probabilities + noise) / 2)
    primary = metric_named("auc", MULTILABEL)
    board = Scoreboard({"bad": bad, "good": good}, primary)
    assert [s.name for s in board.standings] == ["good", "bad"]
    assert board.standings[1].difference.distinguishable
    assert board.standings[1].difference.won_by_winner > board.standings[1].difference.won_by_this
    # The same examples four times, once as independent ones and once as groups.
    rows = np.repeat(np.arange(200), 4)
    copies = good.labels[rows], good.probabilities[rows]
    widths = [
        Scoreboard({"good": SetOutcome(*copies, groups)}, primary).standings[0].metrics["auc"]
        for groups in (None, Groups.named(rows))
    ]
    alone, grouped = (one.high - one.low for one in widths)
    assert grouped > 1.5 * alone


def test_recalls_are_by_class_the_worst_first():
    labels = np.array([1, 1, 3, 2])
    shares = np.array([[0.9, 0.1], [0.2, 0.1], [0.8, 0.2], [0.1, 0.3]])
    assert SetOutcome(labels, shares).recalls(1) == {1: (0, 2), 0: (2, 3)}
