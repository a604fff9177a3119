"""Probabilities of any number of several classes."""

from typing import Any

import numpy as np

from trainer.estimators.answers import arrays
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.predictions import SUM_TOLERANCE


def checked(found: Any, examples: int, dataset: DatasetDescription) -> np.ndarray:
    """(examples, classes) probabilities, each of its own."""
    expected = (examples, len(dataset.classes))
    scores = arrays.shares(found, expected, "a probability for each class", SUM_TOLERANCE)
    return scores.astype(np.float32)
