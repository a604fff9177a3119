"""Pairs of examples of which one is known to have had the event first: concordance and AUC.

A score of pairs is a ratio of two sums over pairs. Each example's share of both sums, a and b,
gives the score of a resample without going through its pairs again: to first order (Hajek's
projection) a sum of pairs under weights w is sum(w a) - A, A being that of all pairs, in which each
pair is in two of the shares.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# As scikit-survival: risks that are closer are equal.
TIED = 1e-8

# Pairs that are compared at once.
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Pairs:
    """(n,) shares of the pairs in the right order, and of all that can be compared."""

    ordered: np.ndarray
    comparable: np.ndarray

    @property
    def score(self) -> float:
        """Share of the pairs in the right order; NaN if there are none."""
        whole = self.comparable.sum()
        return float(self.ordered.sum() / whole) if whole > 0 else float("nan")

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """(b,) the score of each resample, (n, b) weights; NaN where it has no pairs."""
        above = self.ordered @ weights - self.ordered.sum() / 2
        below = self.comparable @ weights - self.comparable.sum() / 2
        found = np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0)
        return np.clip(found, 0, 1)


def concordance(labels: np.ndarray, risks: np.ndarray, weights: np.ndarray) -> Pairs:
    """The pairs of an event and each example that had none until then, also not at that time.

    weights: (n,) of the pairs of each event.
    """
    times, happened = labels[:, 0], labels[:, 1] == 1

    def later(first: np.ndarray) -> np.ndarray:
        of_first = times[first, None]
        return (times > of_first) | ((times == of_first) & ~happened)

    return _compared(np.flatnonzero(happened & (weights > 0)), later, risks, weights)


def at_horizon(labels: np.ndarray, risks: np.ndarray, weights: np.ndarray, horizon: float) -> Pairs:
    """The pairs of an event until the horizon, and each example that survives it."""
    times = labels[:, 0]
    cases = np.flatnonzero((labels[:, 1] == 1) & (times <= horizon) & (weights > 0))
    controls = times > horizon
    return _compared(
        cases, lambda first: np.broadcast_to(controls, (len(first), len(times))), risks, weights
    )


def _compared(
    first: np.ndarray,
    other: Callable[[np.ndarray], np.ndarray],
    risks: np.ndarray,
    weights: np.ndarray,
) -> Pairs:
    """first: indices of the events. other: (m,) of these -> (m, n) bool, the examples that each is
    compared with.
    """
    ordered, comparable = np.zeros(len(risks)), np.zeros(len(risks))
    size = max(1, _AT_ONCE // max(1, len(risks)))
    for start in range(0, len(first), size):
        part = first[start : start + size]
        known, own = other(part), risks[part, None]
        apart = own - risks
        right = np.where(np.abs(apart) <= TIED, 0.5, apart > 0) * known
        of = weights[part, None]
        ordered += (right * of).sum(axis=0)
        comparable += (known * of).sum(axis=0)
        ordered[part] += (right * of).sum(axis=1)
        comparable[part] += (known * of).sum(axis=1)
    return Pairs(ordered, comparable)
