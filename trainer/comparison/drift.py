"""Measures how far a dataset has moved from an earlier one, from their descriptions.

For each feature and the label, the population stability index between the train splits is

    PSI = sum over bins of (p - q) ln(p / q)

with the shares p of the earlier dataset and q of this one. Numbers are binned at the earlier
deciles, and q is interpolated linearly from the 21 quantiles of this dataset; each frequent term is
a bin, the rare ones share one; missing values are one more bin. Numbers also have the standardised
mean difference, (mean - earlier mean) / root mean of the two variances.

The levels (`LEVELS`) are: little below 0.1, some up to 0.25, much above. These thresholds of credit
scoring (N. Siddiqi, Credit Risk Scorecards, Wiley 2006, chapter 9) are in general use. They assume
many rows: for two small samples of one population, of n and m rows, PSI is about (1/n + 1/m) times
a chi-squared variable with one degree of freedom less than there are bins (B. Yurdakul, Statistical
properties of population stability index, 2018), on average 0.12 for twice 150 rows and ten bins. So
a PSI below the 99% quantile of that variable counts as little. A standardised mean difference above
0.1 is commonly called an imbalance (P. Austin, Statistics in Medicine 28, 2009).
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from trainer.dataset_description import DatasetDescription
from trainer.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    TIMESTAMP,
    Feature,
    Statistics,
    TermStatistics,
)

SOME, MUCH = 0.1, 0.25
SHIFTED = 0.1
CHANCE = 0.99
LEVELS = ("little", "some", "much")
# An empty bin would make PSI infinite; as usual, it counts as half a row.
_HALF = 0.5
_TERMS = 20
_NAMED = 5


@dataclass(frozen=True)
class Drift:
    """Drift of a feature or the label. psi None: not measured, `remark` says why.

    level: one of LEVELS, or None. chance: the PSI below which 99% of pairs of samples of one
    population lie. shift: standardised mean difference, for numbers only. missing: share of missing
    values, before and now. remark: new and missing classes and terms.
    """

    name: str
    kind: str
    psi: float | None
    chance: float | None
    level: str | None
    shift: float | None = None
    missing: tuple[float, float] | None = None
    remark: str = ""


def drift(before: DatasetDescription, now: DatasetDescription) -> list[Drift]:
    """The label's drift, then that of the features in both datasets, the largest first.

    Features that changed their kind, or that only one dataset has, come last.
    """
    rows = before.examples("train"), now.examples("train")
    images = {f.name for f in (*before.features, *now.features) if f.kind == IMAGE}
    earlier = {f.name: f for f in before.features if f.name not in images}
    current = {f.name: f for f in now.features if f.name not in images}
    features = [
        _feature(earlier[name], feature, rows) if name in earlier else _unmeasured(feature, "new")
        for name, feature in current.items()
    ]
    features += [
        _unmeasured(feature, "no longer there")
        for name, feature in earlier.items()
        if name not in current
    ]
    features.sort(key=lambda one: (one.psi is None, -(one.psi or 0)))
    return [_label(before, now, rows), *features]


def _label(before: DatasetDescription, now: DatasetDescription, rows: tuple[int, int]) -> Drift:
    name = now.label.column or now.label.name
    if before.family != now.family:
        return Drift(name, "label", None, None, None, remark="was another task before")
    if now.is_regression:
        statistics = before.label.number_statistics, now.label.number_statistics
        return _numbers(name, "label", *statistics, rows)
    counts = [dict(dataset.counts["train"].classes) for dataset in (before, now)]
    classes = list(dict.fromkeys([*counts[0], *counts[1]]))
    p, q = (np.array([count.get(c, 0) for c in classes], float) for count in counts)
    new = [name for name in classes if name not in counts[0]]
    gone = [name for name in classes if name not in counts[1]]
    remark = _came_and_went(new, gone)
    return _judged(name, "label", p, q, rows, remark=remark)


def _unmeasured(feature: Feature, remark: str) -> Drift:
    return Drift(feature.name, feature.kind, None, None, None, remark=remark)


def _feature(before: Feature, now: Feature, rows: tuple[int, int]) -> Drift:
    if before.kind != now.kind:
        return _unmeasured(now, f"was {before.kind} before")
    if now.kind == CATEGORICAL:
        return _terms(before, now, rows)
    if now.kind == TIMESTAMP:
        return _unmeasured(now, "moves with the calendar")
    return _numbers(now.name, now.kind, before.number_statistics, now.number_statistics, rows)


def _terms(before: Feature, now: Feature, rows: tuple[int, int]) -> Drift:
    counts = [
        dict(zip(feature.terms, feature.term_statistics.frequencies, strict=True))
        for feature in (before, now)
    ]
    both = [term for term in counts[0] if term in counts[1]]
    # Only a complete vocabulary shows that a term is new or gone, not just rare.
    whole = [feature.term_statistics.other == 0 for feature in (before, now)]
    new = [t for t in counts[1] if t not in counts[0]] if whole[0] else []
    gone = [t for t in counts[0] if t not in counts[1]] if whole[1] else []
    frequent = sorted(both, key=lambda term: -counts[0][term] - counts[1][term])[:_TERMS]
    shares = []
    for feature, count in zip((before, now), counts, strict=True):
        statistics = feature.term_statistics
        kept = [count[term] for term in frequent]
        shares.append(np.array([*kept, statistics.count - sum(kept), statistics.missing], float))
    missing = _shares_missing(before.term_statistics, now.term_statistics)
    remark = _came_and_went(new, gone)
    p, q = shares
    return _judged(now.name, now.kind, p, q, rows, missing=missing, remark=remark)


def _came_and_went(new: Sequence[str], gone: Sequence[str]) -> str:
    parts = [f"new: {_listed(new)}" if new else "", f"gone: {_listed(gone)}" if gone else ""]
    return "; ".join(filter(None, parts))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (
        f" and {len(names) - _NAMED:,} more" * (len(names) > _NAMED)
    )


def _numbers(
    name: str, kind: str, before: Statistics, now: Statistics, rows: tuple[int, int]
) -> Drift:
    if kind == BOOLEAN:
        p, q = (np.array([s.count * s.mean, s.count * (1 - s.mean)]) for s in (before, now))
    else:
        edges = np.unique(before.quantiles[2:-1:2])
        p, q = (np.diff(_cumulative(s, edges)) * s.count for s in (before, now))
    p, q = np.append(p, before.missing), np.append(q, now.missing)
    spread = np.sqrt((before.stddev**2 + now.stddev**2) / 2)
    difference = now.mean - before.mean
    shift = float(difference / spread) if spread > 0 else (0.0 if difference == 0 else None)
    missing = _shares_missing(before, now)
    return _judged(name, kind, p, q, rows, shift=shift, missing=missing)


def _cumulative(statistics: Statistics, edges: np.ndarray) -> np.ndarray:
    """Shares up to and including each edge, between the 0 and the 1 that bound the outer bins.

    Linear between quantiles. A value that several quantiles share is a jump, which belongs to an
    edge at that value.
    """
    quantiles = np.asarray(statistics.quantiles)
    levels = np.linspace(0, 1, len(quantiles))
    values, first, repeats = np.unique(quantiles, return_index=True, return_counts=True)
    before, upto = levels[first], levels[first + repeats - 1]
    at = np.searchsorted(values, edges, side="right") - 1
    here = np.clip(at, 0, len(values) - 1)
    following = np.minimum(here + 1, len(values) - 1)
    gap = values[following] - values[here]
    way = np.divide(edges - values[here], gap, out=np.zeros(len(edges)), where=gap > 0)
    shares = upto[here] + way * (before[following] - upto[here]) * (gap > 0)
    shares = np.where(at < 0, 0.0, np.where(at == len(values) - 1, 1.0, shares))
    return np.concatenate([[0.0], shares, [1.0]])


def _shares_missing(
    before: Statistics | TermStatistics, now: Statistics | TermStatistics
) -> tuple[float, float]:
    return _share_missing(before), _share_missing(now)


def _share_missing(statistics: Statistics | TermStatistics) -> float:
    return statistics.missing / (statistics.count + statistics.missing)


def _judged(
    name: str,
    kind: str,
    p: np.ndarray,
    q: np.ndarray,
    rows: tuple[int, int],
    *,
    shift: float | None = None,
    missing: tuple[float, float] | None = None,
    remark: str = "",
) -> Drift:
    """p, q: counts by bin, before and now. rows: of the train splits."""
    used = (p > 0) | (q > 0)
    shares = [np.maximum(c[used], _HALF) / np.maximum(c[used], _HALF).sum() for c in (p, q)]
    psi = float(((shares[0] - shares[1]) * np.log(shares[0] / shares[1])).sum())
    freedom = max(1, int(used.sum()) - 1)
    chance = (1 / rows[0] + 1 / rows[1]) * _chance(freedom)
    level = LEVELS[0] if psi <= max(SOME, chance) else LEVELS[1 + (psi > MUCH)]
    return Drift(name, kind, psi, chance, level, shift, missing, remark)


@functools.cache
def _chance(freedom: int) -> float:
    return float(stats.chi2.ppf(CHANCE, freedom))
