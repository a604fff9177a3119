"""The ranking: scores with intervals, and paired differences between contenders.

Contenders are ranked by the primary metric at its published decimals; ties are broken by the lower
log loss (regression: RMSE; time to an event: integrated Brier score; masks: Dice), then by name
(training/2 before training/10). The first is the winner. The published numbers alone determine the
order. Trainings that the validation split did not select (`selection`) are scored too, but do not
compete: they follow the others.

Differences have simultaneous intervals: one contender against each of the k others that compete, at
the level 1 - 0.05 / k, so that all k cover with 95% confidence (Bonferroni).
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trainer.comparison import fold_intervals, samples
from trainer.comparison.intervals import DIFFERENCE_METHODS, LEVEL, METHODS, method
from trainer.comparison.samples import Samples
from trainer.families import FAMILIES
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import AnyOutcome
from trellis_contracts.leaderboard import Difference, Estimate
from trellis_contracts.metrics import parted
from trellis_contracts.tasks import CLASSIFICATION

DECIMALS = 6


class ScoringError(ValueError):
    """The contenders cannot be ranked by the requested metric."""


@dataclass(frozen=True)
class Standing:
    """A place in the ranking. Undefined metrics are absent; the winner has no difference."""

    name: str
    rank: int
    metrics: Mapping[str, Estimate]
    difference: Difference | None


def estimate(value: float, interval: tuple[float, float], decimals: int) -> Estimate:
    """Round to the published number of decimals, which may be negative (-1: to tens)."""
    value, low, high = (round(float(x), decimals) + 0.0 for x in (value, *interval))
    return Estimate(value, (low, high))


def metrics_for(family: str, classes: Sequence[str] = ()) -> dict[str, Metric]:
    """The metrics of a family of tasks, by name. family: of tasks.FAMILIES. classes:
    of the dataset; a classification of two has those of the positive class, too.
    """
    return FAMILIES[family].metrics(classes)


def metric_named(name: str, family: str = CLASSIFICATION, classes: Sequence[str] = ()) -> Metric:
    """The metric with that name; "loss" is the log loss or what its family has, METRIC@PART a
    metric in one of its parts (trellis_contracts.metrics).

    Raises ScoringError if the family of tasks has no such metric. classes: as of `metrics_for`.
    """
    known = metrics_for(family, classes)
    name, part = parted(FAMILIES[family].loss if name == "loss" else name)
    if name not in known:
        raise ScoringError(
            f"unknown metric {name!r} for a {family.replace('_', ' ')}; expected one of "
            + ", ".join(known)
        )
    if part is None:
        return known[name]
    found = FAMILIES[family].part_of(known[name], part, classes)
    if found is None:
        raise ScoringError(f"{name} is no average over parts, of which {part!r} could be one")
    return found


def decimals(metric: Metric, labels: np.ndarray) -> int:
    """Published decimals: six; for a metric in the label's unit, by the spread of the labels."""
    if not metric.of_label:
        return DECIMALS
    spread = float(np.std(labels)) or float(np.abs(labels).max()) or 1.0
    return DECIMALS - math.floor(math.log10(spread))


class Scoreboard:
    """Scores and ranks contenders on the same examples.

    primary: the metric of the ranking. not_selected: names of the trainings that do not compete.
    family: of the task. metrics: by name, in the order in which they are shown.
    standings: the ranking, the winner first.
    comparisons: number of others with which each competing contender is compared, at least 1.
    difference_level: confidence level of each difference's interval.
    """

    def __init__(
        self,
        outcomes: Mapping[str, AnyOutcome],
        primary: Metric,
        not_selected: Collection[str] = (),
        classes: Sequence[str] = (),
        widening: float = 1.0,
    ):
        """Score all contenders and rank them.

        outcomes: by contender's name, at least one, with the same examples in the same order.
        not_selected: names of those that do not compete. classes: of the dataset; empty for a
        regression. widening: of intervals (`fold_intervals`). Raises ScoringError if the primary
        metric is undefined on this test split.
        """
        self.primary = primary
        self.widening = widening
        self.not_selected = frozenset(not_selected)
        self.comparisons = max(1, len(outcomes) - len(not_selected) - 1)
        self.difference_level = 1 - (1 - LEVEL) / self.comparisons
        self.family = next(iter(outcomes.values())).family
        self._outcomes = outcomes
        self.classes = tuple(classes)
        self.metrics = metrics_for(self.family, classes)
        self._samples = samples.draw(outcomes, list(self.metrics.values()))
        self._scores = {
            name: estimates(
                outcome, self.metrics.values(), self._samples[name], self.decimals, widening
            )
            for name, outcome in outcomes.items()
        }
        if any(primary.name not in scores for scores in self._scores.values()):
            raise ScoringError(
                f"{primary.name} is undefined on this test split, which has "
                f"{FAMILIES[self.family].lone} only"
            )
        order = sorted(outcomes, key=lambda name: (name in not_selected, self._key(name)))
        self.standings = [
            self._standing(name, place, order[0]) for place, name in enumerate(order, start=1)
        ]

    def outcome(self, name: str) -> AnyOutcome:
        """A contender's predictions."""
        return self._outcomes[name]

    def score(self, name: str, metric: Metric) -> Estimate | None:
        """A contender's score, of a column or of one part of it; None if it is undefined."""
        if metric.name in self.metrics:
            return self._scores[name].get(metric.name)
        outcome = self._outcomes[name]
        drawn = samples.draw({name: outcome}, [metric])[name]
        return estimates(outcome, [metric], drawn, self.decimals, self.widening).get(metric.name)

    def decimals(self, metric: Metric) -> int:
        """Published decimals of the metric's values."""
        return decimals(metric, next(iter(self._outcomes.values())).labels)

    def chance(self, metric: Metric) -> float | None:
        """Score of an answer that does not look at the example; None if it is not known."""
        if metric.chance is None:
            return None
        value = metric.chance(next(iter(self._outcomes.values())))
        return None if math.isnan(value) else round(value, self.decimals(metric)) + 0.0

    def lead(self, name: str, other: str) -> Estimate:
        """A contender's lead over another in the primary metric, with its interval.

        It is positive if the contender is better, whether the metric is maximized or minimized.
        """
        difference = self._difference(name, other, self.primary)
        if self.primary.sign > 0:
            return difference
        # 0.0 - x instead of -x, which would print -0.0.
        return Estimate(0.0 - difference.value, (0.0 - difference.high, 0.0 - difference.low))

    def _key(self, name: str) -> tuple:
        """Sort key of the ranking; see the module's docstring."""
        scores, loss = self._scores[name], self.metrics[FAMILIES[self.family].loss]
        natural = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
        return (
            -self.primary.sign * scores[self.primary.name].value,
            # Undefined of a time to an event whose test split is too short.
            -loss.sign * scores[loss.name].value if loss.name in scores else 0.0,
            natural,
        )

    def _standing(self, name: str, place: int, winner: str) -> Standing:
        difference = None if name == winner else self._against(name, winner)
        return Standing(name, place, self._scores[name], difference)

    def _against(self, name: str, winner: str) -> Difference:
        this, best = self._outcomes[name], self._outcomes[winner]
        estimates = {
            metric: self._difference(name, winner, self.metrics[metric])
            for metric in self._scores[name]
            if metric in self._scores[winner]
        }
        decisive = estimates[self.primary.name]
        return Difference(
            metrics=estimates,
            won_by_winner=int(np.count_nonzero(best.beats(this))),
            won_by_this=int(np.count_nonzero(this.beats(best))),
            distinguishable=not decisive.low <= 0 <= decisive.high,
        )

    def _difference(self, name: str, other: str, metric: Metric) -> Estimate:
        """A contender's score minus another's."""
        this, that = self._outcomes[name], self._outcomes[other]
        of = DIFFERENCE_METHODS[metric.difference_interval]
        resampled = self._samples[name][metric.name], self._samples[other][metric.name]
        interval = of(metric, this, that, *resampled, self.difference_level)
        # Computed from the rounded values, so that the table adds up.
        scores = self._scores[name][metric.name], self._scores[other][metric.name]
        value = scores[0].value - scores[1].value
        if self.widening > 1:
            interval = fold_intervals.widened(value, interval, self.widening)
        return estimate(value, interval, self.decimals(metric))


def measured(
    outcome: AnyOutcome, metrics: Sequence[Metric], places: Callable[[Metric], int]
) -> dict[str, Estimate]:
    """An outcome's scores with their intervals, without those that are undefined. places: published
    decimals of a metric.
    """
    return estimates(outcome, metrics, samples.draw({"": outcome}, metrics)[""], places)


def estimates(
    outcome: AnyOutcome,
    metrics: Iterable[Metric],
    drawn: Mapping[str, Samples],
    places: Callable[[Metric], int],
    widening: float = 1.0,
) -> dict[str, Estimate]:
    """Scores with intervals, by metric, without undefined ones.

    drawn: samples by metric. places: published decimals of a metric. widening: of intervals.
    """
    found = {}
    for metric in metrics:
        value = metric.point(outcome)
        if not math.isnan(value):
            of = METHODS[method(metric, outcome)]
            interval = of(metric, outcome, value, drawn[metric.name], LEVEL)
            if widening > 1:
                wide = fold_intervals.widened(value, interval, widening)
                interval = fold_intervals.within(metric, wide)
            found[metric.name] = estimate(value, interval, places(metric))
    return found
