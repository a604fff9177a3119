"""Estimates of Kaplan and Meier, and what metrics of times to an event weigh examples with.

Labels are (n, 2): the time, and 1 if the event happened then, 0 if it was not seen until then
(censored). Definitions are those of scikit-survival, with the censoring estimated from the examples
that are scored, so that a score needs no others; tests hold both against each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

TINY = 1e-30
"""Least probability of which there is a logarithm."""

# Of a cumulative hazard.
_LEAST = 1e-12


@dataclass(frozen=True)
class Steps:
    """A function of time in steps: `before`, then values[i] from times[i] on, rising times."""

    times: np.ndarray
    values: np.ndarray
    before: float = 1.0

    def at(self, times: np.ndarray) -> np.ndarray:
        """The curve's values at these times, of any shape."""
        place = np.searchsorted(self.times, times, side="right")
        found: np.ndarray = np.concatenate([[self.before], self.values])[place]
        return found


@dataclass(frozen=True)
class AtRisk:
    """How many of n examples are at risk, and have the event, at each of their distinct times.

    times: (t,) rising. place: (n,) of each example's time among them.
    """

    labels: np.ndarray

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        times, place = np.unique(self.labels[:, 0], return_inverse=True)
        return times, place

    @property
    def times(self) -> np.ndarray:
        return self._places[0]

    @property
    def place(self) -> np.ndarray:
        return self._places[1]

    def counted(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(t, b) at risk, with the event, and censored at each time, under (n, b) weights."""
        happened = self.labels[:, 1] == 1
        shape = len(self.times), weights.shape[1]
        events, censored = np.zeros(shape), np.zeros(shape)
        np.add.at(events, self.place[happened], weights[happened])
        np.add.at(censored, self.place[~happened], weights[~happened])
        left = np.cumsum((events + censored)[::-1], axis=0)[::-1]
        return left, events, censored


def survival(labels: np.ndarray) -> Steps:
    """Kaplan and Meier's probability that the event has not happened until a time."""
    risk = AtRisk(labels)
    return Steps(risk.times, survivals(risk, np.ones((len(labels), 1)))[:, 0])


def survivals(risk: AtRisk, weights: np.ndarray) -> np.ndarray:
    """(t, b) as `survival`, at risk.times, under (n, b) weights."""
    left, events, _ = risk.counted(weights)
    return np.cumprod(1 - np.divide(events, left, out=np.zeros_like(left), where=left > 0), axis=0)


def uncensored(labels: np.ndarray) -> Steps:
    """The probability that an example is not censored until a time. Events come before what is
    censored at the same time.
    """
    risk = AtRisk(labels)
    left, events, censored = (part[:, 0] for part in risk.counted(np.ones((len(labels), 1))))
    left = left - events
    shares = np.divide(censored, left, out=np.zeros_like(left), where=censored > 0)
    return Steps(risk.times, np.cumprod(1 - shares))


def greenwood(labels: np.ndarray) -> Steps:
    """The variance of the logarithm of `survival` (Greenwood, 1926), in steps that rise from 0."""
    risk = AtRisk(labels)
    left, events, _ = (part[:, 0] for part in risk.counted(np.ones((len(labels), 1))))
    below = left * (left - events)
    terms = np.divide(events, below, out=np.zeros_like(left), where=below > 0)
    return Steps(risk.times, np.cumsum(terms), 0.0)


def breslow(
    labels: np.ndarray, risks: np.ndarray, weights: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """Breslow's cumulative baseline hazard at these times, of (n,) log-hazards relative to it
    (https://doi.org/10.2307/2529620).
    """
    order = np.argsort(labels[:, 0], kind="stable")
    known, happened = labels[order, 0], labels[order, 1] == 1
    # From the largest, so that no exp overflows.
    top = risks.max()
    hazards = (weights * np.exp(risks - top))[order]
    left = np.cumsum(hazards[::-1])[::-1][np.searchsorted(known, known, side="left")]
    events = np.where(happened, weights[order], 0)
    jumps = np.divide(events, left, out=np.zeros(len(left)), where=(events > 0) & (left > 0))
    total = np.concatenate([[0.0], np.cumsum(jumps)]) * np.exp(-top)
    found: np.ndarray = total[np.searchsorted(known, times, side="right")]
    return found


def interpolated(curves: np.ndarray, times: Sequence[float], wanted: Sequence[float]) -> np.ndarray:
    """(n, w) survival at the wanted times, of (n, t) curves at rising times: the hazard is constant
    between two of them, and none after the last.
    """
    known = np.concatenate([[0.0], times])
    place = np.clip(np.searchsorted(known, wanted, side="left"), 1, len(times))
    low, high = known[place - 1], known[place]
    share = np.clip((np.array(wanted) - low) / (high - low), 0, 1)
    logs = np.log(np.maximum(np.concatenate([np.ones((len(curves), 1)), curves], axis=1), TINY))
    found: np.ndarray = np.exp(logs[:, place - 1] * (1 - share) + logs[:, place] * share)
    return found


def risks(curves: np.ndarray) -> np.ndarray:
    """(n,) logarithm of the cumulative hazard, averaged over the times of (n, t) survival curves:
    of proportional hazards it is the log-hazard and a constant, and in general the order of
    Ishwaran's ensemble mortality (https://doi.org/10.1214/08-AOAS169).
    """
    found: np.ndarray = np.log(np.mean(-np.log(np.maximum(curves, TINY)), axis=1) + _LEAST)
    return found
