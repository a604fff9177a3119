"""The ranking: every contender's scores with intervals, and its paired difference to the champion.

Rule of the ranking: the better value of the primary metric, at the six decimals that are
published; among equals the lower log loss; among equals still the earlier name (training/2 before
training/10). The first is the champion. The published numbers alone give the order.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trainer.comparison import bootstrap
from trainer.comparison.intervals import DIFFERENCE_METHODS, LEVEL, METHODS
from trainer.comparison.outcome import Outcome
from trainer.comparison.scores import CLASSIFICATION_METRICS, Metric

DECIMALS = 6
TIE_BREAKER = "log_loss"


class ScoringError(ValueError):
    """The contenders cannot be ranked by the metric asked for."""


@dataclass(frozen=True)
class Estimate:
    """A score or a difference, and the interval that covers the true one with 95% confidence."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, interval: tuple[float, float]) -> "Estimate":
        """Rounded to the published number of decimals."""
        return cls(*(round(float(x), DECIMALS) + 0.0 for x in (value, *interval)))


@dataclass(frozen=True)
class Difference:
    """A contender against the champion on the same examples.

    metrics: this contender's score minus the champion's, by metric. only_champion, only_this:
    examples that only the champion, and only this contender, classified correctly.
    distinguishable: the interval of the primary metric's difference leaves out zero.
    """

    metrics: Mapping[str, Estimate]
    only_champion: int
    only_this: int
    distinguishable: bool


@dataclass(frozen=True)
class Standing:
    """One place in the ranking. Undefined metrics are absent; the champion has no difference."""

    name: str
    rank: int
    metrics: Mapping[str, Estimate]
    difference: Difference | None


def metric_named(name: str) -> Metric:
    """The metric of that name; "loss", as training calls it, is the log loss. Else ScoringError."""
    if name == "loss":
        name = "log_loss"
    if name not in CLASSIFICATION_METRICS:
        known = ", ".join(CLASSIFICATION_METRICS)
        raise ScoringError(f"there is no metric {name!r} to rank by; there are: {known}")
    return CLASSIFICATION_METRICS[name]


def rank(outcomes: Mapping[str, Outcome], primary: Metric) -> list[Standing]:
    """Score all contenders and put them in order, the champion first.

    outcomes: by contender's name, all over the same examples in the same order, at least one.
    Raises ScoringError if the primary metric is undefined on this test split.
    """
    metrics = list(CLASSIFICATION_METRICS.values())
    names = list(outcomes)
    resampled = bootstrap.resampled_scores([outcomes[name] for name in names], metrics)
    samples = {
        name: {metric.name: resampled[i, j] for j, metric in enumerate(metrics)}
        for i, name in enumerate(names)
    }
    scores = {name: _scores(outcomes[name], metrics, samples[name]) for name in names}
    if primary.name not in scores[names[0]]:
        raise ScoringError(
            f"{primary.name} is undefined on this test split: it holds examples of one class only"
        )
    order = sorted(names, key=lambda name: _sort_key(name, scores[name], primary))
    champion = order[0]
    return [
        Standing(
            name=name,
            rank=place,
            metrics=scores[name],
            difference=None
            if name == champion
            else _difference(name, champion, outcomes, scores, samples, primary),
        )
        for place, name in enumerate(order, start=1)
    ]


def _sort_key(name: str, scores: Mapping[str, Estimate], primary: Metric):
    natural = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    return -primary.sign * scores[primary.name].value, scores[TIE_BREAKER].value, natural


def _scores(outcome: Outcome, metrics: list[Metric], samples) -> dict[str, Estimate]:
    estimates = {}
    for metric in metrics:
        value = metric.point(outcome)
        if not math.isnan(value):
            method = METHODS[metric.interval]
            interval = method(outcome, value, samples[metric.name], LEVEL)
            estimates[metric.name] = Estimate.of(value, interval)
    return estimates


def _difference(name, champion, outcomes, scores, samples, primary: Metric) -> Difference:
    this, best = outcomes[name], outcomes[champion]
    estimates = {}
    for metric_name in scores[name]:
        method = DIFFERENCE_METHODS[CLASSIFICATION_METRICS[metric_name].difference_interval]
        resampled = samples[name][metric_name] - samples[champion][metric_name]
        interval = method(this, best, resampled, LEVEL)
        # The difference of the published values, so that the table adds up.
        value = scores[name][metric_name].value - scores[champion][metric_name].value
        estimates[metric_name] = Estimate.of(value, interval)
    decisive = estimates[primary.name]
    return Difference(
        metrics=estimates,
        only_champion=int(np.count_nonzero(best.correct & ~this.correct)),
        only_this=int(np.count_nonzero(this.correct & ~best.correct)),
        distinguishable=not decisive.low <= 0 <= decisive.high,
    )
