"""The row with which an explanation begins: what the train split says is ordinary.

    numeric      its mean
    timestamp    its mean
    boolean      what most rows have
    categorical  the most frequent term
    sequence     its mean, as many times as a sequence has elements on average
    text         no word
    image        black

and NULL for a feature without a value in the train split. The values are in the form of
trainer.training.raw_rows.
"""

import math
from typing import Any

import numpy as np

from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    NULL_TEXT,
    NULL_TIMESTAMP,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    Feature,
)


def ordinary_row(dataset: DatasetDescription) -> list[Any]:
    """A value for each feature, in their order; of a sequence the list of its elements, of an image
    its pixels.
    """
    return [_ordinary(feature) for feature in dataset.features]


def _ordinary(feature: Feature) -> Any:
    if feature.kind == CATEGORICAL:
        return feature.terms[0].encode() if feature.term_statistics.count else NULL_TEXT
    if feature.kind == TEXT:
        return NULL_TEXT
    if feature.kind == IMAGE:
        return np.zeros(feature.image_shape, feature.dtype)
    known = feature.number_statistics
    if feature.kind == SEQUENCE:
        length = round(known.mean_length or 0) if known.count else 0
        return np.full(length, known.mean, np.float64)
    if feature.kind == TIMESTAMP:
        return round(known.mean * 1e6) if known.count else NULL_TIMESTAMP
    if not known.count:
        return math.nan
    return float(known.mean > 0.5) if feature.kind == BOOLEAN else known.mean
