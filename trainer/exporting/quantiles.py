"""Quantiles of more numbers than fit in memory, by merging summaries of a bounded size.

A summary stands for n numbers by at most POINTS of their values, in order, each with the same share
of n. Numbers up to POINTS are kept as they are. More are thinned out: the values at the middle of
POINTS equal shares remain, so the share of numbers up to any value changes by half a share at most.
Merging two summaries adds no error but that of thinning out again. Along a tree of d merges the
share is off by (d + 1) / (2 POINTS) at most: 1,000 summaries merged in pairs give 0.27 percentage
points, half a million of them 0.5. (Mergeable summaries: Agarwal et al., PODS 2012; this is their
simplest, deterministic form.)
"""

from dataclasses import dataclass

import numpy as np

POINTS = 2048


@dataclass(frozen=True)
class Quantiles:
    """A summary of `count` numbers: `values` (rising, float64), each for the same share of them."""

    count: int
    values: np.ndarray

    @classmethod
    def of(cls, rising: np.ndarray) -> "Quantiles":
        """Of numbers in rising order."""
        return cls(len(rising), _thin_out(rising))

    def merge(self, other: "Quantiles") -> "Quantiles":
        """Of the numbers of both."""
        if not self.count or not other.count:
            return self if self.count else other
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values, kind="stable")
        weights = np.repeat(
            [self.count / len(self.values), other.count / len(other.values)],
            [len(self.values), len(other.values)],
        )
        return Quantiles(self.count + other.count, _thin_out(values[order], weights[order]))

    def at(self, percents: np.ndarray) -> np.ndarray:
        """For each of whole percents, the smallest value that so many numbers do not exceed.

        0 percent is the smallest value of the summary. (NumPy calls this `inverted_cdf`.)
        """
        ranks = -(-np.asarray(percents) * len(self.values) // 100)  # rounded up
        return self.values[np.maximum(ranks - 1, 0)]


def _thin_out(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    if len(values) <= POINTS:
        return values.astype(np.float64)
    middles = (np.arange(POINTS) + 0.5) / POINTS
    if weights is None:
        return values[(middles * len(values)).astype(int)].astype(np.float64)
    reached = np.cumsum(weights)
    return values[np.searchsorted(reached, middles * reached[-1])]
