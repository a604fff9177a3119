"""Sizes of decoded examples, and where a worker keeps its share of a split for all epochs.

The plan foretells both, from the columns and the machine; a training measures what is free.
"""

import math
from collections.abc import Iterable

from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    Feature,
    Label,
)

MAX_WORDS = 512
"""Words of a text that are read. The rest has no effect."""

MAX_NUMBERS = 2 * MAX_WORDS - 1
"""Largest number of a text's words and their pairs."""

_MEMORY_SHARE = 0.5
"""Share of the free memory that may be taken; the model, batches and shuffling have the rest."""

_DISK_SHARE = 0.8
"""Share of the free disk that may be taken; checkpoints and logs have the rest."""

MEMORY, DISK = "in memory", "on disk"

_VALUE_BYTES = {NUMERIC: 4, BOOLEAN: 4, CATEGORICAL: 8, TIMESTAMP: 8}
_WEIGHT_BYTES = 4
_OFFSET_BYTES = 8
"""Size of where a row's values begin, if rows differ in their number."""

_ITEM_BYTES = {"uint8": 1, "uint16": 2, "float32": 4, "int64": 8}


def example_bytes(features: Iterable[Feature], label: Label) -> int:
    """The maximum size in bytes of a decoded example, its label and weight included.

    Raises TypeError for a sequence or a text without statistics.
    """
    values = label.values * label.pixels
    return sum(map(_bytes, features)) + values * _ITEM_BYTES[label.dtype] + _WEIGHT_BYTES


def _bytes(feature: Feature) -> int:
    if feature.kind == IMAGE:
        return math.prod(feature.image_shape) * _ITEM_BYTES[feature.dtype]
    if feature.kind == SEQUENCE:
        return _OFFSET_BYTES + 4 * feature.longest
    if feature.kind == TEXT:
        # A text has a word for every two characters at most, and a pair for each word but one.
        return _OFFSET_BYTES + 8 * min(MAX_NUMBERS, int(feature.number_statistics.max))
    return _VALUE_BYTES[feature.kind]


def places(size: int, memory: float, disk: float) -> list[str]:
    """Where `size` bytes fit, the faster first: MEMORY, DISK. memory, disk: free bytes."""
    most = {MEMORY: _MEMORY_SHARE * memory, DISK: _DISK_SHARE * disk}
    return [place for place, bytes_ in most.items() if size <= bytes_]
