"""Chooses the interval of each metric; the name of its method is in leaderboard.json.

The percentile bootstrap is used where its coverage is right, and a better method elsewhere;
`proportions`, `pseudo_error`, `auc`, `precision`, `calibration` and `studentized` give the
measurements.
"""

from collections.abc import Callable
from typing import Any

from trainer.comparison import bootstrap, proportions, pseudo_error, studentized
from trainer.comparison.samples import Samples
from trainer.metrics import precision
from trainer.metrics.auc import newcombe_interval
from trainer.metrics.calibration import calibration_interval
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import Outcome

LEVEL = 0.95

Interval = tuple[float, float]


def _bootstrap(
    metric: Metric, outcome: Any, value: float, samples: Samples, level: float
) -> Interval:
    return bootstrap.interval(samples.plain, level)


def _clopper_pearson(
    metric: Metric, outcome: Any, value: float, samples: Samples, level: float
) -> Interval:
    if metric.share is None:
        raise TypeError(f"the metric {metric.name} is no share of the examples")
    hits, among = metric.share(outcome)
    groups = outcome.groups.subset(among) if outcome.groups else None
    return proportions.share_interval(hits[among], level, groups)


def _pseudo_error(
    metric: Metric, outcome: Outcome, value: float, samples: Samples, level: float
) -> Interval:
    return pseudo_error.interval(samples.plain, samples.with_pseudo_errors[0], level)


def _newcombe(
    metric: Metric, outcome: Outcome, value: float, samples: Samples, level: float
) -> Interval:
    return newcombe_interval(value, outcome, level)


def _logit_and_pseudo_error(
    metric: Metric, outcome: Outcome, value: float, samples: Samples, level: float
) -> Interval:
    lows, highs = zip(
        precision.logit_interval(value, outcome, level),
        _pseudo_error(metric, outcome, value, samples, level),
        strict=True,
    )
    return min(lows), max(highs)


def _calibration(
    metric: Metric, outcome: Outcome, value: float, samples: Samples, level: float
) -> Interval:
    return calibration_interval(outcome, value, samples.plain, level)


def _studentized(
    metric: Metric, outcome: Any, value: float, samples: Samples, level: float
) -> Interval:
    if metric.terms is None:
        raise TypeError(f"the metric {metric.name} has no terms for a studentized bootstrap")
    terms, plain = metric.terms(outcome), samples.plain
    if metric.goal == "minimize":
        return studentized.interval(terms, value, plain, level, outcome.groups)
    # What lacks to the highest score is a mean error, and skewed like one.
    best = metric.highest
    low, high = studentized.interval(terms, best - value, best - plain, level, outcome.groups)
    return max(metric.lowest, best - high), best - low


# (metric, outcome of the metric's kind, its score, the score's resamples, level) -> interval
METHODS: dict[str, Callable[[Metric, Any, float, Samples, float], Interval]] = {
    "bootstrap": _bootstrap,
    "clopper-pearson": _clopper_pearson,
    "pseudo-error bootstrap": _pseudo_error,
    "newcombe": _newcombe,
    "logit and pseudo-error bootstrap": _logit_and_pseudo_error,
    "calibration bootstrap": _calibration,
    "studentized bootstrap": _studentized,
}


def method(metric: Metric, outcome: Any) -> str:
    """The method of a metric's interval on these examples: a key of METHODS.

    Newcombe's is of two classes. Groups are few, and a group of large errors is to a mean what a
    single one is elsewhere: means of groups have the studentized bootstrap.
    """
    if metric.interval == "newcombe" and outcome.class_count > 2:
        return "pseudo-error bootstrap"
    if metric.interval == "bootstrap" and metric.terms is not None and outcome.groups is not None:
        return "studentized bootstrap"
    return metric.interval


def _paired_bootstrap(
    metric: Metric, outcome: Any, other: Any, samples: Samples, others: Samples, level: float
) -> Interval:
    return bootstrap.interval(samples.plain - others.plain, level)


def _bonett_price(
    metric: Metric, outcome: Any, other: Any, samples: Samples, others: Samples, level: float
) -> Interval:
    if metric.share is None:
        raise TypeError(f"the metric {metric.name} is no share of the examples")
    # Both are shares of the same examples.
    (hits, among), (found, _) = metric.share(outcome), metric.share(other)
    groups = outcome.groups.subset(among) if outcome.groups else None
    return proportions.difference_interval(hits[among], found[among], level, groups)


def _paired_pseudo_error(
    metric: Metric,
    outcome: Outcome,
    other: Outcome,
    samples: Samples,
    others: Samples,
    level: float,
) -> Interval:
    return pseudo_error.difference_interval(
        samples.with_pseudo_errors, others.with_pseudo_errors, level
    )


# (metric, outcome, the other's outcome, the score's resamples, the other's, level) -> interval
DIFFERENCE_METHODS: dict[str, Callable[[Metric, Any, Any, Samples, Samples, float], Interval]] = {
    "paired bootstrap": _paired_bootstrap,
    "bonett-price": _bonett_price,
    "paired pseudo-error bootstrap": _paired_pseudo_error,
}
