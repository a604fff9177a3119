"""Quantiles of more numbers than fit in memory, by merging summaries of a bounded size.

A summary represents n numbers by at most POINTS of their values, in order, each with the same
weight. Up to POINTS numbers are kept exactly. More are reduced to the values at the middle of
POINTS equal shares, so the share of numbers up to any value changes by at most half a share.
Merging two summaries adds only the error of another reduction. After a tree of merges of depth d,
the share is off by at most (d + 1) / (2 POINTS): 0.27 percentage points for 1,000 summaries merged
in pairs, 0.5 for half a million. (Mergeable summaries: Agarwal et al., PODS 2012; this is the
simplest, deterministic form.)
"""

from dataclasses import dataclass

import numpy as np

POINTS = 2048


@dataclass(frozen=True)
class Quantiles:
    """A summary of `count` numbers: ascending float64 `values` of equal weight."""

    count: int
    values: np.ndarray

    @classmethod
    def of(cls, rising: np.ndarray) -> "Quantiles":
        """Summarise numbers in ascending order."""
        return cls(len(rising), _reduce(rising))

    def merge(self, other: "Quantiles") -> "Quantiles":
        """The summary of the numbers of both."""
        if not self.count or not other.count:
            return self if self.count else other
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values, kind="stable")
        weights = np.repeat(
            [self.count / len(self.values), other.count / len(other.values)],
            [len(self.values), len(other.values)],
        )
        return Quantiles(self.count + other.count, _reduce(values[order], weights[order]))

    def at(self, percents: np.ndarray) -> np.ndarray:
        """The quantiles at whole percents, by NumPy's method `inverted_cdf`.

        0 percent is the smallest value of the summary.
        """
        ranks = -(-np.asarray(percents) * len(self.values) // 100)  # rounded up
        return self.values[np.maximum(ranks - 1, 0)]


def _reduce(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    if len(values) <= POINTS:
        return values.astype(np.float64)
    middles = (np.arange(POINTS) + 0.5) / POINTS
    if weights is None:
        return values[(middles * len(values)).astype(int)].astype(np.float64)
    reached = np.cumsum(weights)
    return values[np.searchsorted(reached, middles * reached[-1])]
