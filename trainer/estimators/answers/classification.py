"""Probabilities of one of several classes."""

from typing import Any

import numpy as np

from trainer.estimators.answers import multilabel_classification
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.predictions import SUM_TOLERANCE


def checked(found: Any, examples: int, dataset: DatasetDescription) -> np.ndarray:
    """(examples, classes) probabilities that sum to 1."""
    scores = multilabel_classification.checked(found, examples, dataset)
    sums = scores.sum(axis=1, dtype=np.float64)
    if (off := np.abs(sums - 1) > SUM_TOLERANCE).any():
        raise ValueError(
            f"probabilities that add up to {sums[off][0]:.4g} for example "
            f"{np.flatnonzero(off)[0]} of a batch; expected 1"
        )
    return scores
