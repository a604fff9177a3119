"""Distance between the train splits of two datasets, and between what a model learned from and what
it predicts: the one rule for changes, drift and the report.

The distances are those that TensorFlow Data Validation calls drift
(https://www.tensorflow.org/tfx/data_validation/get_started): the L-infinity distance of categories,
the largest difference of one category's share; and the Jensen-Shannon divergence of numbers, here
in bits and over the deciles of both datasets. Both are bounded by 1, equal in both directions, and
need no correction for an empty bin. Two samples of one population differ too: a difference counts
only if 99.9% of pairs of samples of these sizes are closer, by the normal and chi-squared
approximations for independent rows.

A value is missing where it is NULL.
"""

import bisect
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    TIMESTAMP,
    Feature,
    Statistics,
    TermStatistics,
)

LIMITS = {
    "examples": 2.0,
    "missing": 0.1,
    "mean": 0.5,
    "numbers": 0.1,
    "categories": 0.2,
    "classes": 0.1,
}
"""Defaults of `source.changes`, beyond which a difference is worth a warning. examples: a ratio;
mean: standard deviations of the earlier dataset; numbers: bits; the others: shares."""

_ERRORS = 3.29
"""Standard errors that 0.1% of differences exceed, on both sides together."""

_QUANTILE = 3.09
"""Standard errors that 0.1% of differences exceed on one side."""


@dataclass(frozen=True)
class Difference:
    """A difference and its chance: what 99.9% of pairs of samples of one population stay below."""

    value: float
    chance: float

    def beyond(self, limit: float) -> bool:
        """True if the difference exceeds both the limit and chance."""
        return abs(self.value) > max(limit, self.chance)


@dataclass(frozen=True)
class Share(Difference):
    """A share of the rows, before and now."""

    name: str
    before: float
    now: float


@dataclass(frozen=True)
class Drift:
    """Drift of one feature, or of the label.

    kind: the feature's, or "label". limit: key of LIMITS that bounds `distance`. distance: bits
    between two distributions of numbers, or the category whose share moved most; None where nothing
    can be measured, and `remark` says why. shift: of a number's mean, in standard deviations of the
    earlier dataset, infinite where that has none. missing: None of a label. came, went: categories
    that only one of the datasets has, as far as their vocabularies tell.
    """

    name: str
    kind: str
    limit: str = ""
    distance: Difference | None = None
    shift: Difference | None = None
    missing: Share | None = None
    remark: str = ""
    came: Sequence[str] = ()
    went: Sequence[str] = ()

    def level(self, limits: Mapping[str, float] = LIMITS) -> str | None:
        """`within chance`, `small` (within the limit) or `large`; None: not measured."""
        if self.distance is None:
            return None
        if self.distance.beyond(limits[self.limit]):
            return "large"
        return "small" if self.distance.beyond(0) else "within chance"


LEVELS = ("within chance", "small", "large")


def measure(before: DatasetDescription, now: DatasetDescription) -> list[Drift]:
    """The drift of the label, then that of each feature of either dataset.

    Of a column of images only whether it is there: no statistics are kept of pixels.
    """
    rows = _rows(before), _rows(now)
    return [_label(before, now), *measure_features(before.features, now.features, rows)]


def measure_features(
    before: Sequence[Feature], now: Sequence[Feature], rows: tuple[int, int]
) -> list[Drift]:
    """The drift of each feature of either. rows: that their statistics are of."""
    old, new = ({one.name: one for one in features} for features in (before, now))
    found = [
        _feature(old[name], feature, rows) if name in old else _unmeasured(feature, "new")
        for name, feature in new.items()
    ]
    return found + [_unmeasured(old[name], "no longer there") for name in old if name not in new]


def measure_numbers(name: str, before: Statistics, now: Statistics) -> Drift:
    """The drift of a label that is a number, or of predicted numbers."""
    rows = before.count, now.count
    distance, shift = _divergence(before, now, rows), _shift(before, now, rows)
    return Drift(name, "label", "numbers", distance, shift)


def measure_classes(name: str, before: Mapping[str, int], now: Mapping[str, int]) -> Drift:
    """The drift of a label's classes, or of predicted ones. before, now: counts by class, 0
    included.
    """
    shares = [(label, before[label], now[label]) for label in before if label in now]
    return Drift(
        name,
        "label",
        "classes",
        _most_moved(shares, sum(before.values()), sum(now.values())),
        came=[label for label in now if label not in before],
        went=[label for label in before if label not in now],
    )


def _label(before: DatasetDescription, now: DatasetDescription) -> Drift:
    name = now.label.column or now.label.name
    if before.task != now.task:
        return Drift(name, "label", remark=f"was for {before.task or 'classification'} before")
    one, two = before.label.statistics, now.label.statistics
    if one is not None and two is not None:
        return measure_numbers(name, one, two)
    old, new = (dataset.counts["train"].classes for dataset in (before, now))
    return measure_classes(name, old, new)


def _feature(before: Feature, now: Feature, rows: tuple[int, int]) -> Drift:
    name, kind = now.name, now.kind
    if before.kind != kind:
        return _unmeasured(now, f"was {before.kind} before")
    if kind == IMAGE:
        return _unmeasured(now, "left out: pixels are not compared")
    if kind == CATEGORICAL:
        return _categories(before, now)
    one, two = before.number_statistics, now.number_statistics
    missing = _missing(one, two)
    if kind == TIMESTAMP:
        return Drift(name, kind, missing=missing, remark="moves with the calendar")
    if kind == BOOLEAN:
        counts = [statistics.count * statistics.mean for statistics in (one, two)]
        true = _share("true", counts[0], counts[1], one.count, two.count)
        return Drift(name, kind, "categories", true, missing=missing)
    if not (one.count and two.count):
        return Drift(name, kind, missing=missing, remark="has no values in one of the datasets")
    return Drift(
        name, kind, "numbers", _divergence(one, two, rows), _shift(one, two, rows), missing
    )


def _unmeasured(feature: Feature, remark: str) -> Drift:
    return Drift(feature.name, feature.kind, remark=remark)


def _missing(one: Statistics | TermStatistics, two: Statistics | TermStatistics) -> Share | None:
    both = one.count + one.missing, two.count + two.missing
    return _share("missing values", one.missing, two.missing, *both)


def _categories(before: Feature, now: Feature) -> Drift:
    one, two = before.term_statistics, now.term_statistics
    old, new = (
        dict(zip(feature.terms, feature.term_statistics.frequencies, strict=True))
        for feature in (before, now)
    )
    counts = []
    for term in {**old, **new}:
        known = old.get(term), new.get(term)
        # A term that a full vocabulary left out is at most as frequent as the rarest that it kept.
        first = min(min(old.values()), known[1] or 0) if one.other and old else 0
        second = min(min(new.values()), known[0] or 0) if two.other and new else 0
        counts.append(
            (
                term,
                first if known[0] is None else known[0],
                second if known[1] is None else known[1],
            )
        )
    return Drift(
        now.name,
        CATEGORICAL,
        "categories",
        _most_moved(counts, one.count, two.count),
        missing=_missing(one, two),
        came=[] if one.other else [term for term in new if term not in old],
        went=[] if two.other else [term for term in old if term not in new],
    )


def _most_moved(counts: Sequence[tuple[str, float, float]], old: float, new: float) -> Share | None:
    """The category whose share has changed most, of those that changed by more than chance if there
    are any.
    """
    shares = [share for count in counts if (share := _share(*count, old, new))]
    moved = [share for share in shares if share.beyond(0)]
    return max(moved or shares, key=lambda share: abs(share.value), default=None)


def _share(name: str, first: float, second: float, old: float, new: float) -> Share | None:
    """first, second: counts of the category; old, new: counts of all rows."""
    if not old or not new:
        return None
    both = (first + second) / (old + new)
    chance = _ERRORS * math.sqrt(max(both * (1 - both), 0) * (1 / old + 1 / new))
    p, q = first / old, second / new
    return Share(q - p, chance, name, p, q)


def _shift(one: Statistics, two: Statistics, rows: tuple[int, int]) -> Difference:
    n, m = _independent(one, two, rows)
    difference, spread = two.mean - one.mean, one.stddev
    if not spread:
        same = math.isclose(two.mean, one.mean, rel_tol=1e-6)
        return Difference(0.0 if same else math.copysign(math.inf, difference), 0.0)
    chance = _ERRORS * math.sqrt(spread**2 / n + two.stddev**2 / m)
    return Difference(difference / spread, chance / spread)


def _divergence(one: Statistics, two: Statistics, rows: tuple[int, int]) -> Difference:
    n, m = _independent(one, two, rows)
    value, bins = divergence(one.quantiles, two.quantiles)
    chance = _chi_squared(max(bins - 1, 1)) * (1 / n + 1 / m) / (8 * math.log(2))
    return Difference(value, chance)


def divergence(one: Sequence[float], two: Sequence[float]) -> tuple[float, int]:
    """Jensen-Shannon divergence in bits, from two lists of quantiles at equal steps; and the number
    of bins, whose edges are the deciles of both.
    """
    step = max(1, (len(one) - 1) // 10)
    edges = sorted({*one[step:-1:step], *two[step:-1:step]})
    p, q = (_shares(quantiles, edges) for quantiles in (one, two))
    total = 0.0
    for a, b in zip(p, q, strict=True):
        middle = (a + b) / 2
        total += sum(share / 2 * math.log2(share / middle) for share in (a, b) if share > 0)
    return max(total, 0.0), sum(a + b > 0 for a, b in zip(p, q, strict=True))


def _shares(quantiles: Sequence[float], edges: Sequence[float]) -> list[float]:
    """Shares of the bins between the edges, each with its upper edge: linear between quantiles."""
    last = len(quantiles) - 1
    upto = []
    for edge in edges:
        # The last quantile at or below the edge: equal ones are a jump, which is the edge's.
        at = bisect.bisect_right(quantiles, edge) - 1
        if at < 0:
            upto.append(0.0)
        elif at == last:
            upto.append(1.0)
        else:
            gap = quantiles[at + 1] - quantiles[at]
            upto.append((at + (edge - quantiles[at]) / gap) / last)
    return [high - low for low, high in itertools.pairwise([0.0, *upto, 1.0])]


def _chi_squared(freedom: int) -> float:
    """The 99.9% quantile of the chi-squared distribution, by Wilson and Hilferty (PNAS 17,
    1931).
    """
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + _QUANTILE * math.sqrt(part)) ** 3)


def _independent(one: Statistics, two: Statistics, rows: tuple[int, int]) -> tuple[int, int]:
    """Independent values of both datasets: those of one sequence are not, its row is."""
    return min(one.count, rows[0]), min(two.count, rows[1])


def _rows(dataset: DatasetDescription) -> int:
    return dataset.examples("train")
