"""Masks."""

from typing import Any

import numpy as np

from trainer.estimators.answers import arrays
from trellis_contracts.dataset import DatasetDescription


def checked(found: Any, examples: int, dataset: DatasetDescription) -> np.ndarray:
    """(examples, height, width) uint8 class indices."""
    indices, classes = np.asarray(found), len(dataset.classes)
    expected = (examples, *dataset.label.mask_shape)
    if indices.shape != expected or indices.dtype.kind not in "iub":
        raise ValueError(
            f"an array {indices.shape} of {indices.dtype} for {examples} examples; expected "
            f"{expected} whole numbers, the index of each pixel's class"
        )
    wrong = (indices < 0) | (indices >= classes)
    arrays.refuse(wrong, indices, f"indices from 0 to {classes - 1}")
    return indices.astype(np.uint8)
