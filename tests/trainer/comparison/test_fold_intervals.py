"""Intervals of out-of-fold scores: how much wider, and whether they cover the true score."""

import math

import numpy as np
import pytest

from tests.trainer.comparison.simulated_folds import Drawn, Numbers, ThreeClasses, TwoClasses
from trainer.comparison.fold_intervals import widened, widening, within
from trainer.comparison.scoreboard import Scoreboard, metric_named
from trainer.metrics.regression import REGRESSION_METRICS
from trellis_contracts.folds import Folds


@pytest.mark.parametrize("repeats", [1, 20])
@pytest.mark.parametrize(
    ("count", "variance"),
    # Of one repeat's rows: s2 / count. Nadeau and Bengio's is s2 * (1 / count + 1 / (count - 1)),
    # also of several repeats, as each row counts once in any number of them.
    [(5, 1 / 5 + 1 / 4), (10, 1 / 10 + 1 / 9), (3, 1 / 3 + 1 / 2)],
)
def test_the_factor_is_that_of_the_corrected_variance(count, variance, repeats):
    assert widening(Folds(count, repeats)) == pytest.approx(math.sqrt(variance * count))


def test_each_end_is_farther_from_the_score_and_none_is_nearer():
    assert widened(0.8, (0.7, 0.85), 1.5) == pytest.approx((0.65, 0.875))
    # A bootstrap's interval may not have the score.
    assert widened(0.8, (0.81, 0.9), 1.5) == pytest.approx((0.8, 0.95))


def test_no_interval_leaves_what_a_metric_can_be():
    metric = metric_named("auc", classes=TwoClasses.classes)
    assert within(metric, (-0.1, 1.2)) == (0.0, 1.0)
    assert within(metric_named("log_loss"), (-0.1, 3.0)) == (0.0, 3.0)
    assert within(REGRESSION_METRICS["r2"], (-0.1, 1.2)) == (-0.1, 1.0)


SETS = 200
PAIRS = (("all", "left"), ("left", "right"))


def shares(drawn, units, folds):
    """Count of SETS simulated data sets the share whose intervals cover what is expected of a
    procedure, and of the difference between two: by what is meant and metric, and by whether they
    are widened.
    """
    metrics, primary = drawn.metrics, next(iter(drawn.metrics.values()))
    truths, found = [], {True: [], False: []}
    for _ in range(SETS):
        outcomes, models = drawn.crossed(units, folds)
        truths.append(
            {
                (name, metric): np.mean([metrics[metric].point(one) for one in models[name]])
                for name in models
                for metric in metrics
            }
        )
        boards = [
            (Scoreboard({n: outcomes[n] for n in pair}, primary, classes=drawn.label.classes), pair)
            for pair in PAIRS
        ]
        for wide, every in found.items():
            factor = widening(folds) if wide else 1.0
            every.append({k: v for one in boards for k, v in intervals(*one, factor).items()})
    expected = {key: np.mean([one[key] for one in truths]) for key in truths[0]}
    for one, other in PAIRS:
        for metric in metrics:
            expected[f"{one} - {other}", metric] = expected[one, metric] - expected[other, metric]
    return {
        wide: {
            key: np.mean([one[key][0] <= expected[key] <= one[key][1] for one in every])
            for key in every[0]
        }
        for wide, every in found.items()
    }


def intervals(board, pair, factor):
    """Widen the intervals of both scores, and of the first one's minus the second's."""
    _, other = board.standings
    found = {
        (standing.name, name): widened(one.value, one.interval, factor)
        for standing in board.standings
        for name, one in standing.metrics.items()
    }
    sign = 1 if other.name == pair[0] else -1
    for name, one in other.difference.metrics.items():
        ends = widened(one.value, one.interval, factor)
        found[f"{pair[0]} - {pair[1]}", name] = sorted(sign * end for end in ends)
    return found


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("label", "units", "size", "features", "folds"),
    [
        pytest.param(TwoClasses, 60, 1, 6, Folds(5), id="60 rows"),
        pytest.param(TwoClasses, 60, 1, 20, Folds(5), id="60 rows of many features"),
        pytest.param(TwoClasses, 150, 1, 20, Folds(5), id="150 rows"),
        pytest.param(TwoClasses, 150, 1, 20, Folds(10), id="150 rows in 10 folds"),
        pytest.param(TwoClasses, 60, 1, 6, Folds(5, 2), id="60 rows twice"),
        pytest.param(TwoClasses, 150, 1, 20, Folds(5, 4), id="150 rows four times"),
        pytest.param(TwoClasses, 30, 5, 6, Folds(5), id="30 groups of 5"),
        pytest.param(TwoClasses, 30, 5, 6, Folds(5, 2), id="30 groups of 5 twice"),
        pytest.param(ThreeClasses, 60, 1, 6, Folds(5), id="three classes, 60 rows"),
        pytest.param(ThreeClasses, 150, 1, 20, Folds(5), id="three classes, 150 rows"),
        pytest.param(ThreeClasses, 30, 5, 6, Folds(5), id="three classes, 30 groups of 5"),
        pytest.param(Numbers, 60, 1, 6, Folds(5), id="numbers, 60 rows"),
        pytest.param(Numbers, 150, 1, 20, Folds(5), id="numbers, 150 rows"),
        pytest.param(Numbers, 30, 5, 6, Folds(5), id="numbers, 30 groups of 5"),
    ],
)
def test_intervals_cover_what_is_expected_of_a_procedure_and_of_two(
    label, units, size, features, folds, monkeypatch
):
    """Those of single rows do not: of the AUC or R2 of `all` in 78 to 88 %."""
    drawn = Drawn(features, size, label)
    # A board of a few metrics takes a fifth of the time of all.
    monkeypatch.setattr("trainer.comparison.scoreboard.metrics_for", lambda *_: drawn.metrics)
    found = shares(drawn, units, folds)
    for wide, by_key in found.items():
        print("widened" if wide else "not widened")
        for (of, metric), share in by_key.items():
            print(f"{of:14} {metric:10} {share:.3f}")
    # Three standard errors of 200 below 95 %.
    assert min(found[True].values()) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / SETS)
    assert min(found[False].values()) < 0.9
