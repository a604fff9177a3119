"""Predictions that hardly differ from one another, which trainer.comparison.learned judges."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

HALF_DECIBAN = math.log(10) / 20
"""In nats."""

_FLOOR = float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Constancy:
    """What has to differ between examples. parts: (n,) numbers of each, how far apart they are if
    they are still constant, and (n,) labels. shown: (n,) numbers for the message, with so many
    digits, which begins with these words.
    """

    parts: Sequence[tuple[np.ndarray, float, np.ndarray]]
    shown: np.ndarray
    words: str
    digits: int = 4


def log_odds(probabilities: np.ndarray) -> np.ndarray:
    """Log odds that are finite."""
    p = np.clip(probabilities, _FLOOR, 1 - _FLOOR)
    odds: np.ndarray = np.log(p) - np.log1p(-p)
    return odds
