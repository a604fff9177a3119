"""The values of a field -> a column of the model's signature (trainer.training.raw_rows)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
)

_TYPES = {
    NUMERIC: np.float64,
    BOOLEAN: np.float64,
    CATEGORICAL: object,
    TIMESTAMP: np.int64,
    TEXT: object,
}


def column(kind: str, values: Sequence[Any]) -> np.ndarray:
    """(n,); of sequences (n, longest), filled up with NaN; of images (n, height, width, channels).

    kind: the feature's.
    """
    if kind == IMAGE:
        return np.stack(values)
    if kind != SEQUENCE:
        return np.array(values, _TYPES[kind])
    padded = np.full((len(values), max(map(len, values))), math.nan)
    for row, sequence in zip(padded, values, strict=True):
        row[: len(sequence)] = sequence
    return padded
