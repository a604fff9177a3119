"""Metrics of regressions on a test split, by the same code for every contender.

As in `classification`, each metric has two functions: `point` is scikit-learn's, `resampled`
computes the same quantity for many resamples of the split at once. Tests check that both agree.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.metrics import chance
from trainer.metrics.groups import Groups
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import AnyOutcome
from trainer.metrics.sums import r2, weighted_mean
from trellis_contracts.tasks import REGRESSION


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
        ),
    )
}
