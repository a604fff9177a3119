"""Sampled Shapley values: how much each feature moves a score away from its baseline.

All features stand at their baselines, then one after the other takes its own value; what the score
moves with a feature's turn is that feature's doing. The Shapley value is the mean over all orders
of the features. It is estimated from random ones, each followed by its reverse, which makes it
exact where features interact in pairs at most.

Whatever is drawn, the values add up to the score less that of the baselines.

Castro et al., "Polynomial calculation of the Shapley value based on sampling" (2009); orders in
pairs: Mitchell et al., "Sampling Permutations for Shapley Value Estimation" (2022),
https://arxiv.org/abs/2104.12199
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Equal requests get equal answers.
_SEED = 0


@dataclass(frozen=True)
class Shares:
    """values: (n,) float64, one for each feature; error: their largest standard error.

    score, baseline_score: with all features at their own values, and at their baselines.
    """

    values: np.ndarray
    error: float
    score: float
    baseline_score: float


def shares(score: Callable[[np.ndarray], np.ndarray], features: int, paths: int) -> Shares:
    """The Shapley values of a number of features.

    score: (m, features) bool, true where a feature has its own value, false where it has its
    baseline -> (m,) scores. paths: orders, an even number from 4 on; an error needs two pairs.
    """
    dice = np.random.default_rng(_SEED)
    orders = [dice.permutation(features) for _ in range(paths // 2)]
    turns = np.array([turn for order in orders for turn in (np.argsort(order), _reverse(order))])
    # (paths, features - 1, features): after the first feature's turn, up to the last but one.
    steps = turns[:, np.newaxis, :] <= np.arange(features - 1)[:, np.newaxis]
    ends = np.repeat([[False], [True]], features, axis=1)
    scores = score(np.concatenate([ends, steps.reshape(-1, features)])).astype(np.float64)
    walks = np.empty((paths, features + 1))
    walks[:, 0], walks[:, -1] = scores[:2]
    walks[:, 1:-1] = scores[2:].reshape(paths, features - 1)
    moves = np.take_along_axis(np.diff(walks), turns, axis=1)
    pairs = moves.reshape(paths // 2, 2, features).mean(axis=1)
    errors = pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))
    return Shares(pairs.mean(axis=0), float(errors.max()), float(scores[1]), float(scores[0]))


def evaluations(features: int, paths: int) -> int:
    """Number of scores that `shares` computes."""
    return 2 + paths * (features - 1)


def _reverse(order: np.ndarray) -> np.ndarray:
    return np.argsort(order[::-1])
