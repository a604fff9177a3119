"""Curves of survival."""

from typing import Any

import numpy as np

from trainer.estimators.answers import arrays
from trainer.metrics import survival_estimates
from trellis_contracts.dataset import DatasetDescription

_RISE = 1e-6


def checked(found: Any, examples: int, dataset: DatasetDescription) -> np.ndarray:
    """(examples, 1 + times) the risk, and the probabilities of survival."""
    meaning = "the probability of survival at each of data.times"
    curves = arrays.shares(found, (examples, len(dataset.label.times)), meaning)
    if (rises := np.diff(curves, axis=1) > _RISE).any():
        raise ValueError(
            f"a probability of survival that rises with time, for example "
            f"{np.argwhere(rises)[0][0]} of a batch"
        )
    return np.concatenate([survival_estimates.risks(curves)[:, None], curves], axis=1)
