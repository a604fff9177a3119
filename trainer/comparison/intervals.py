"""Which interval fits which metric: methods by the names that leaderboard.json gives them.

Each is the percentile bootstrap where that holds what it promises, and what holds better where it
does not; `proportions`, `auc`, `calibration` and `studentized` say what was
measured.
"""

from collections.abc import Callable

import numpy as np

from trainer.comparison import bootstrap, proportions, studentized
from trainer.comparison.auc import newcombe_interval
from trainer.comparison.calibration import calibration_interval
from trainer.comparison.metric import Metric
from trainer.comparison.outcome import Outcome
from trainer.comparison.regression import ValueOutcome

LEVEL = 0.95

Interval = tuple[float, float]

# (metric, outcome, its score, the score's resamples, level) -> interval
METHODS: dict[
    str, Callable[[Metric, Outcome | ValueOutcome, float, np.ndarray, float], Interval]
] = {
    "bootstrap": lambda metric, outcome, value, samples, level: bootstrap.interval(samples, level),
    "clopper-pearson": lambda metric, outcome, value, samples, level: proportions.share_interval(
        outcome.correct, level
    ),
    "newcombe or bootstrap": lambda metric, outcome, value, samples, level: (
        newcombe_interval(value, outcome, level)
        if outcome.class_count == 2
        else bootstrap.interval(samples, level)
    ),
    "calibration bootstrap": lambda metric, outcome, value, samples, level: calibration_interval(
        outcome, value, samples, level
    ),
    "studentized bootstrap": lambda metric, outcome, value, samples, level: studentized.interval(
        metric.terms(outcome), value, samples, level
    ),
}

# (outcome, the other's outcome, resamples of the difference of their scores, level) -> interval
DIFFERENCE_METHODS: dict[
    str,
    Callable[[Outcome | ValueOutcome, Outcome | ValueOutcome, np.ndarray, float], Interval],
] = {
    "paired bootstrap": lambda outcome, other, samples, level: bootstrap.interval(samples, level),
    "bonett-price": lambda outcome, other, samples, level: proportions.difference_interval(
        outcome.correct, other.correct, level
    ),
}
