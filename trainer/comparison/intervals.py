"""Which interval fits which metric: methods by the names that leaderboard.json gives them.

The percentile bootstrap is used where its coverage is right, and a better method elsewhere;
`proportions`, `auc`, `calibration` and `studentized` give the measurements.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from trainer.comparison import bootstrap, proportions, studentized
from trainer.comparison.auc import newcombe_interval
from trainer.comparison.calibration import calibration_interval
from trainer.comparison.metric import Metric
from trainer.comparison.outcome import Outcome

LEVEL = 0.95

Interval = tuple[float, float]


def _bootstrap(
    metric: Metric, outcome: Any, value: float, samples: np.ndarray, level: float
) -> Interval:
    return bootstrap.interval(samples, level)


def _clopper_pearson(
    metric: Metric, outcome: Outcome, value: float, samples: np.ndarray, level: float
) -> Interval:
    return proportions.share_interval(outcome.correct, level)


def _newcombe_or_bootstrap(
    metric: Metric, outcome: Outcome, value: float, samples: np.ndarray, level: float
) -> Interval:
    if outcome.class_count == 2:
        return newcombe_interval(value, outcome, level)
    return bootstrap.interval(samples, level)


def _calibration(
    metric: Metric, outcome: Outcome, value: float, samples: np.ndarray, level: float
) -> Interval:
    return calibration_interval(outcome, value, samples, level)


def _studentized(
    metric: Metric, outcome: Any, value: float, samples: np.ndarray, level: float
) -> Interval:
    if metric.terms is None:
        raise TypeError(f"the metric {metric.name} has no terms for a studentized bootstrap")
    return studentized.interval(metric.terms(outcome), value, samples, level)


# (metric, outcome of the metric's kind, its score, the score's resamples, level) -> interval
METHODS: dict[str, Callable[[Metric, Any, float, np.ndarray, float], Interval]] = {
    "bootstrap": _bootstrap,
    "clopper-pearson": _clopper_pearson,
    "newcombe or bootstrap": _newcombe_or_bootstrap,
    "calibration bootstrap": _calibration,
    "studentized bootstrap": _studentized,
}

# (outcome, the other's outcome, resamples of the difference of their scores, level) -> interval
DIFFERENCE_METHODS: dict[str, Callable[[Any, Any, np.ndarray, float], Interval]] = {
    "paired bootstrap": lambda outcome, other, samples, level: bootstrap.interval(samples, level),
    "bonett-price": lambda outcome, other, samples, level: proportions.difference_interval(
        outcome.correct, other.correct, level
    ),
}
