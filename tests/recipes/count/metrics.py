"""Metrics of counts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy
from sklearn.metrics import mean_poisson_deviance

from trainer.metrics.formulas import weighted_mean
from trainer.metrics.metric import Metric, Order
from trainer.metrics.regression import ValueOutcome


def deviance(labels: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(n,) Poisson deviance of expected counts above 0."""
    return 2 * (xlogy(labels, labels / values) - labels + values)


@dataclass(frozen=True)
class CountOutcome(ValueOutcome):
    """A contender's expected counts of n test examples."""

    family = "count"

    @cached_property
    def misses(self) -> np.ndarray:
        """(n,) Poisson deviance of each."""
        return deviance(self.labels, self.values)


COUNT_METRICS = {
    "poisson_deviance": Metric(
        "poisson_deviance",
        "Poisson deviance",
        "examples",
        "minimize",
        "Mean Poisson deviance: twice the log likelihood that is lost to the true counts.",
        lambda outcome: mean_poisson_deviance(outcome.labels, outcome.values),
        lambda outcome, weights: weighted_mean(outcome.misses, weights),
        chance=lambda outcome: float(deviance(outcome.labels, outcome.labels.mean()).mean()),
        interval="studentized bootstrap",
        terms=lambda outcome: outcome.misses,
    )
}

TALLIES = ()
ORDER = Order(lambda task: 0, lambda task, labels, outputs: None, lambda task, columns: {})


def exact(labels: np.ndarray, values: np.ndarray) -> dict[str, float]:
    """Metrics of (n,) expected counts."""
    found = float(deviance(labels, values).mean())
    return {"loss": found, "poisson_deviance": found}
