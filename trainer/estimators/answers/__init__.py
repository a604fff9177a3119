"""What the predictor of a group's own file returned, as scores: a module for each family of tasks,
of its name.
"""

import importlib
from typing import Any

import numpy as np

from trellis_contracts.dataset import DatasetDescription


def checked(found: Any, examples: int, dataset: DatasetDescription) -> np.ndarray:
    """(examples, ...) scores. Raises ValueError, whose message goes on from `predict returned`."""
    module = importlib.import_module(f"{__name__}.{dataset.family}")
    scores: np.ndarray = module.checked(found, examples, dataset)
    return scores
