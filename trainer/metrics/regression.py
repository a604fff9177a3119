"""Metrics of regressions, in training and on a test split, by the same code for every contender.

As in `classification`, each metric has two functions: `point` is scikit-learn's, `resampled`
computes the same quantity for many resamples of the split at once. Tests check that both agree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.metrics import chance
from trainer.metrics.constancy import Constancy
from trainer.metrics.formulas import ratio, weighted_mean
from trainer.metrics.groups import Groups
from trainer.metrics.metric import Metric, Order, Tally
from trainer.metrics.outcome import AnyOutcome
from trellis_contracts.tasks import REGRESSION

# Of the labels' spread: constant predictions are no further apart (trainer.comparison.learned).
_OF_SPREAD = 0.05
# The quartiles of a normal distribution are so many standard deviations apart.
_QUARTILES = 1.349


def r2(squared_error: np.ndarray, mean: np.ndarray, mean_square: np.ndarray) -> np.ndarray:
    """Coefficient of determination from means over the examples: of the squared error, of the
    labels, and of their squares. NaN if all labels are equal; for that, labels should be centred or
    standardized, so that rounding leaves no variance.
    """
    variance = np.asarray(mean_square - np.square(mean))
    return 1 - ratio(squared_error, np.where(variance < 1e-12 * mean_square, 0, variance))


def _spread(labels: np.ndarray) -> float:
    """Standard deviation, by the quartiles if that is smaller: a few large labels say nothing."""
    low, high = np.quantile(labels, [0.25, 0.75])
    deviation = float(np.std(labels))
    return min(deviation, float(high - low) / _QUARTILES) if high > low else deviation


@dataclass(frozen=True)
class ValueOutcome(AnyOutcome):
    """A contender's predictions for n test examples with a numeric label.

    labels, values: (n,) float64, true and predicted, in the label's unit.
    """

    family = REGRESSION

    labels: np.ndarray
    values: np.ndarray
    groups: Groups | None = None

    @cached_property
    def residuals(self) -> np.ndarray:
        """(n,) predicted minus true values."""
        return self.values - self.labels

    @cached_property
    def misses(self) -> np.ndarray:
        """(n,) absolute error of each prediction."""
        return np.abs(self.residuals)

    @cached_property
    def ascending(self) -> np.ndarray:
        """(n,) indices of the examples, from the smallest absolute error to the largest."""
        return np.argsort(self.misses, kind="stable")

    def constancy(self, classes: Sequence[str]) -> Constancy:
        """See AnyOutcome."""
        part = self.values, _OF_SPREAD * _spread(self.labels), self.labels
        return Constancy([part], self.values, "from", 5)

    @property
    def disorder(self) -> str | None:
        """See AnyOutcome."""
        rises = float((self.values - self.values.mean()) @ self.centred)
        if not np.ptp(self.labels) or rises > 0:
            return None
        return "its predictions do not rise with the label, and "

    @cached_property
    def centred(self) -> np.ndarray:
        """(n,) labels minus their mean: their variance keeps its precision if the mean is large."""
        return self.labels - self.labels.mean()


def _rmse(outcome: ValueOutcome) -> float:
    return sklearn_metrics.root_mean_squared_error(outcome.labels, outcome.values)


def _rmse_resampled(outcome: ValueOutcome, weights: np.ndarray) -> np.ndarray:
    return np.sqrt(weighted_mean(outcome.residuals**2, weights))


def _mae(outcome: ValueOutcome) -> float:
    return sklearn_metrics.mean_absolute_error(outcome.labels, outcome.values)


def _mae_resampled(outcome: ValueOutcome, weights: np.ndarray) -> np.ndarray:
    return weighted_mean(outcome.misses, weights)


def _median(outcome: ValueOutcome) -> float:
    return sklearn_metrics.median_absolute_error(outcome.labels, outcome.values)


def _median_resampled(outcome: ValueOutcome, weights: np.ndarray) -> np.ndarray:
    """The median of every resample; of an even number, the mean of the two in the middle."""
    misses = outcome.misses[outcome.ascending]
    drawn = np.cumsum(weights[outcome.ascending], axis=0)
    total = drawn[-1]
    lower = (drawn >= (total + 1) // 2).argmax(axis=0)
    upper = (drawn >= total // 2 + 1).argmax(axis=0)
    return (misses[lower] + misses[upper]) / 2


def _r2(outcome: ValueOutcome) -> float:
    # If all labels are equal, scikit-learn returns 0 or 1, which would look like a result.
    if np.ptp(outcome.labels) == 0:
        return float("nan")
    return sklearn_metrics.r2_score(outcome.labels, outcome.values)


def _r2_resampled(outcome: ValueOutcome, weights: np.ndarray) -> np.ndarray:
    quantities = (outcome.residuals**2, outcome.centred, outcome.centred**2)
    return r2(*(weighted_mean(values, weights) for values in quantities))


REGRESSION_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "rmse",
            "RMSE",
            "examples",
            "minimize",
            "Root of the mean squared error, in the unit of the label: large errors count most.",
            _rmse,
            _rmse_resampled,
            chance=chance.deviation,
            interval="studentized bootstrap",
            terms=lambda outcome: outcome.residuals**2,
            of_label=True,
        ),
        Metric(
            "mae",
            "MAE",
            "examples",
            "minimize",
            "Mean absolute error, in the unit of the label.",
            _mae,
            _mae_resampled,
            chance=chance.absolute_deviation,
            interval="studentized bootstrap",
            terms=lambda outcome: outcome.misses,
            of_label=True,
        ),
        Metric(
            "median_absolute_error",
            "median error",
            "examples",
            "minimize",
            "Median absolute error, in the unit of the label: half of the predictions are closer. "
            "Outliers do not affect it.",
            _median,
            _median_resampled,
            chance=chance.median_deviation,
            of_label=True,
        ),
        Metric(
            "r2",
            "R²",
            "examples",
            "maximize",
            "Coefficient of determination: share of the labels' variance on the test split that "
            "is explained. 0 is as good as predicting their mean; it can be negative.",
            _r2,
            _r2_resampled,
            chance=chance.nothing_explained,
            lowest=-math.inf,
        ),
    )
}


def exact(labels: np.ndarray, values: np.ndarray, scale: float) -> dict[str, float]:
    """Metrics of (n,) predicted values. scale: deviation of the label on the train split."""
    squares, absolutes = np.square(values - labels).mean(), np.abs(values - labels)
    centred = labels - labels.mean()
    share = float(r2(squares, centred.mean(), np.square(centred).mean()))
    return {
        "loss": float(squares / scale**2),
        "rmse": float(squares**0.5),
        "mae": float(absolutes.mean()),
        "median_absolute_error": float(np.median(absolutes)),
        **({} if np.isnan(share) else {"r2": share}),
    }


def _moments(task, labels, outputs, weights):
    """The standardized labels and their squares."""
    import tensorflow as tf

    # In float64: the variance is a small difference of both.
    targets, weights = (tf.cast(t, tf.float64) for t in (task.targets(labels), weights))
    return tf.stack([tf.reduce_sum(targets * weights), tf.reduce_sum(targets**2 * weights)])


def _explained(task, sums, means, examples):
    share = float(r2(np.array(means["loss"]), *(sums / examples)))
    return {} if math.isnan(share) else {"r2": share}


def _misses(task, labels, outputs):
    """Absolute errors of the standardized label."""
    import tensorflow as tf

    return tf.abs(outputs - task.targets(labels)[:, None])


TALLIES = (Tally(lambda task: 2, _moments, _explained),)

ORDER = Order(
    lambda task: int(task.metric == "median_absolute_error"),
    _misses,
    lambda task, columns: {"median_absolute_error": task.scale * float(np.median(columns))},
)
