"""The ranking: every contender's scores with intervals, and its paired difference to the champion.

Rule of the ranking: the better value of the primary metric, at the decimals that are published;
among equals the lower log loss, of a regression the lower RMSE; among equals still the earlier name
(training/2 before training/10). The first is the champion. The published numbers alone give the
order.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trainer.comparison import bootstrap
from trainer.comparison.intervals import DIFFERENCE_METHODS, LEVEL, METHODS
from trainer.comparison.metric import Metric
from trainer.comparison.outcome import Outcome
from trainer.comparison.regression import REGRESSION_METRICS, ValueOutcome
from trainer.comparison.scores import CLASSIFICATION_METRICS

DECIMALS = 6
# What training calls the loss: cross-entropy and squared error, which rank like these.
_LOSSES = {"loss": "log_loss"}, {"loss": "rmse"}


class ScoringError(ValueError):
    """The contenders cannot be ranked by the metric asked for."""


@dataclass(frozen=True)
class Estimate:
    """A score or a difference, and the interval that covers the true one with 95% confidence."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, interval: tuple[float, float], decimals: int) -> "Estimate":
        """Rounded to the published number of decimals, which is negative to round to tens."""
        return cls(*(round(float(x), decimals) + 0.0 for x in (value, *interval)))


@dataclass(frozen=True)
class Difference:
    """A contender against the champion on the same examples.

    metrics: this contender's score minus the champion's, by metric. won_by_champion, won_by_this:
    examples that one of them classified correctly and the other did not; of a regression, examples
    where it came closer. distinguishable: the interval of the primary metric's difference leaves
    out zero.
    """

    metrics: Mapping[str, Estimate]
    won_by_champion: int
    won_by_this: int
    distinguishable: bool


@dataclass(frozen=True)
class Standing:
    """One place in the ranking. Undefined metrics are absent; the champion has no difference."""

    name: str
    rank: int
    metrics: Mapping[str, Estimate]
    difference: Difference | None


def metrics_for(regression: bool) -> dict[str, Metric]:
    """The metrics of a task, by name."""
    return REGRESSION_METRICS if regression else CLASSIFICATION_METRICS


def metric_named(name: str, regression: bool = False) -> Metric:
    """The metric of that name; "loss", as training calls it, is the log loss or the RMSE.

    Raises ScoringError if the task has no such metric.
    """
    known = metrics_for(regression)
    name = _LOSSES[regression].get(name, name)
    if name not in known:
        task = "a regression" if regression else "a classification"
        raise ScoringError(
            f"there is no metric {name!r} to rank {task} by; there are: {', '.join(known)}"
        )
    return known[name]


def decimals(metric: Metric, labels: np.ndarray) -> int:
    """Decimals that are published: six, or about a ten-millionth of the labels' spread."""
    if not metric.of_label:
        return DECIMALS
    spread = float(np.std(labels)) or float(np.abs(labels).max()) or 1.0
    return DECIMALS - math.floor(math.log10(spread))


def rank(
    outcomes: Mapping[str, Outcome] | Mapping[str, ValueOutcome], primary: Metric
) -> list[Standing]:
    """Score all contenders and put them in order, the champion first.

    outcomes: by contender's name, all over the same examples in the same order, at least one.
    Raises ScoringError if the primary metric is undefined on this test split.
    """
    regression = primary.name in REGRESSION_METRICS
    metrics = list(metrics_for(regression).values())
    names = list(outcomes)
    resampled = bootstrap.resampled_scores([outcomes[name] for name in names], metrics)
    samples = {
        name: {metric.name: resampled[i, j] for j, metric in enumerate(metrics)}
        for i, name in enumerate(names)
    }
    scores = {name: _scores(outcomes[name], metrics, samples[name]) for name in names}
    if primary.name not in scores[names[0]]:
        only = "equal labels" if regression else "examples of one class"
        raise ScoringError(f"{primary.name} is undefined on this test split: it holds {only} only")
    order = sorted(names, key=lambda name: _sort_key(name, scores[name], primary, regression))
    champion = order[0]
    return [
        Standing(
            name=name,
            rank=place,
            metrics=scores[name],
            difference=None
            if name == champion
            else _difference(name, champion, outcomes, scores, samples, primary, metrics),
        )
        for place, name in enumerate(order, start=1)
    ]


def _sort_key(name: str, scores: Mapping[str, Estimate], primary: Metric, regression: bool):
    natural = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    tie_breaker = _LOSSES[regression]["loss"]
    return -primary.sign * scores[primary.name].value, scores[tie_breaker].value, natural


def _scores(outcome, metrics: list[Metric], samples) -> dict[str, Estimate]:
    estimates = {}
    for metric in metrics:
        value = metric.point(outcome)
        if not math.isnan(value):
            method = METHODS[metric.interval]
            interval = method(metric, outcome, value, samples[metric.name], LEVEL)
            estimates[metric.name] = Estimate.of(value, interval, decimals(metric, outcome.labels))
    return estimates


def _difference(
    name, champion, outcomes, scores, samples, primary: Metric, metrics: list[Metric]
) -> Difference:
    this, best = outcomes[name], outcomes[champion]
    estimates = {}
    for metric in metrics:
        if metric.name not in scores[name]:
            continue
        method = DIFFERENCE_METHODS[metric.difference_interval]
        resampled = samples[name][metric.name] - samples[champion][metric.name]
        interval = method(this, best, resampled, LEVEL)
        # The difference of the published values, so that the table adds up.
        value = scores[name][metric.name].value - scores[champion][metric.name].value
        estimates[metric.name] = Estimate.of(value, interval, decimals(metric, this.labels))
    decisive = estimates[primary.name]
    return Difference(
        metrics=estimates,
        won_by_champion=int(np.count_nonzero(best.beats(this))),
        won_by_this=int(np.count_nonzero(this.beats(best))),
        distinguishable=not decisive.low <= 0 <= decisive.high,
    )
