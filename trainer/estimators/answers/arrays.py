"""Arrays that a group's own file returns."""

from typing import Any

import numpy as np


def numbers(found: Any, expected: tuple[int, ...], meaning: str) -> np.ndarray:
    """An array of finite numbers of this shape. Raises ValueError."""
    try:
        scores = np.asarray(found, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{type(found).__name__}, not an array of numbers") from None
    if scores.shape == (*expected, 1):
        scores = scores[..., 0]
    if scores.shape != expected:
        raise ValueError(
            f"an array {scores.shape} for {expected[0]} examples; expected {expected}, {meaning}"
        )
    refuse(~np.isfinite(scores), scores, "finite numbers")
    return scores


def shares(found: Any, expected: tuple[int, ...], meaning: str, above: float = 0.0) -> np.ndarray:
    """`numbers` from 0 to 1. above: how far rounding may take them above 1. Raises ValueError."""
    scores = numbers(found, expected, meaning)
    refuse((scores < 0) | (scores > 1 + above), scores, "probabilities from 0 to 1")
    return scores


def refuse(wrong: np.ndarray, scores: np.ndarray, expected: str) -> None:
    """Raise ValueError, with the first example, if there are any wrong scores."""
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0])
        raise ValueError(
            f"{scores[place]:.4g} for example {place[0]} of a batch; expected {expected}"
        )
