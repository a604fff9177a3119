"""Intervals of out-of-fold scores: how much wider, and whether they cover the true score."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from trainer.comparison.fold_intervals import widened, widening, within
from trainer.comparison.scoreboard import measured, metric_named
from trainer.metrics.outcome import Outcome
from trainer.metrics.regression import REGRESSION_METRICS
from trellis_contracts.folds import Folds

CLASSES = ("no", "yes")


@pytest.mark.parametrize(
    ("count", "repeats", "variance"),
    # Of one repeat's rows: s2 / count. With J = count * repeats folds, Nadeau and Bengio's is
    # s2 * (1 / J + 1 / (count - 1)).
    [
        (5, 1, 1 / 5 + 1 / 4),
        (5, 2, 1 / 10 + 1 / 4),
        (10, 1, 1 / 10 + 1 / 9),
        (3, 20, 1 / 60 + 1 / 2),
    ],
)
def test_the_factor_is_that_of_the_corrected_variance(count, repeats, variance):
    assert widening(Folds(count, repeats)) == pytest.approx(math.sqrt(variance * count))


def test_each_end_is_farther_from_the_score_and_none_is_nearer():
    assert widened(0.8, (0.7, 0.85), 1.5) == pytest.approx((0.65, 0.875))
    # A bootstrap's interval may not have the score.
    assert widened(0.8, (0.81, 0.9), 1.5) == pytest.approx((0.8, 0.95))


def test_no_interval_leaves_what_a_metric_can_be():
    metric = metric_named("auc", classes=CLASSES)
    assert within(metric, (-0.1, 1.2)) == (0.0, 1.0)
    assert within(metric_named("log_loss"), (-0.1, 3.0)) == (0.0, 3.0)
    assert within(REGRESSION_METRICS["r2"], (-0.1, 1.2)) == (-0.1, 1.0)


class Drawn:
    """Rows of two classes of a known logistic model, and many more to know a score by."""

    def __init__(self, features):
        self.random = np.random.default_rng(0)
        weights = self.random.normal(size=features)
        self.weights = 1.5 * weights / np.linalg.norm(weights)
        self.population = self.rows(5000)

    def rows(self, count):
        x = self.random.normal(size=(count, len(self.weights)))
        chance = 1 / (1 + np.exp(-x @ self.weights - 0.5))
        return x, (self.random.random(count) < chance).astype(int)

    def crossed(self, count, folds):
        """Out-of-fold predictions of a procedure that chooses its penalty, as an outcome, and the
        outcomes of its models on the population.
        """
        x, y = self.rows(count)
        order = np.lexsort((self.random.random(count), y))
        fold = np.empty(count, int)
        fold[order] = np.arange(count) % folds
        answers, models = np.empty(count), []
        for tested in range(folds):
            valid = fold == (tested + 1) % folds
            train = (fold != tested) & ~valid
            tried = [LogisticRegression(C=c).fit(x[train], y[train]) for c in (0.02, 0.3, 3.0)]
            losses = [
                -np.log(m.predict_proba(x[valid])[range(sum(valid)), y[valid]]).mean()
                for m in tried
            ]
            models.append(tried[int(np.argmin(losses))])
            answers[fold == tested] = models[-1].predict_proba(x[fold == tested])[:, 1]
        truths = [
            outcome(self.population[1], m.predict_proba(self.population[0])[:, 1]) for m in models
        ]
        return outcome(y, answers), truths


def outcome(labels, answers):
    return Outcome(labels, np.column_stack([1 - answers, answers]))


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "features"), [(60, 5), (60, 20), (150, 20)])
def test_intervals_cover_the_expected_score_of_the_procedure(rows, features):
    """150 simulated data sets; intervals of single rows cover in 79 to 92 % by AUC and log loss."""
    drawn, names = Drawn(features), ("auc", "log_loss", "accuracy")
    metrics = [metric_named(name, classes=CLASSES) for name in names]
    factor = widening(Folds(5))
    truths, plain, wide = [], [], []
    for _ in range(150):
        scored, models = drawn.crossed(rows, 5)
        truths.append([np.mean([metric.point(one) for one in models]) for metric in metrics])
        found = measured(scored, metrics, lambda metric: 6).values()
        plain.append([one.interval for one in found])
        wide.append([widened(one.value, one.interval, factor) for one in found])
    expected = np.mean(truths, axis=0)
    shares = [
        ((np.array(every)[..., 0] <= expected) & (expected <= np.array(every)[..., 1])).mean(axis=0)
        for every in (plain, wide)
    ]
    told = [dict(zip(names, one.round(3).tolist(), strict=True)) for one in shares]
    print(rows, features, *told)
    assert told[0]["auc"] < 0.9, told
    # Three standard errors of 150 below 95 %.
    assert min(told[1].values()) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 150), told
