"""The mean of several models' answers, the same in scoring and in serving."""

from collections.abc import Sequence

import numpy as np


def of_answers(answers: Sequence[np.ndarray]) -> np.ndarray:
    """The mean of (n, classes) probabilities, float32, or of (n,) values, float64, of the same
    examples. Added up in float64, so that the order changes no digit that is kept.
    """
    total = np.sum([found.astype(np.float64) for found in answers], axis=0) / len(answers)
    mean: np.ndarray = total.astype(answers[0].dtype)
    return mean
