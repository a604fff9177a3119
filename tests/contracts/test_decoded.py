"""Sizes of decoded examples, and the places where they fit."""

import pytest

from trellis_contracts import decoded
from trellis_contracts.dataset_features import Feature, Label, Statistics

CLASS = Label()
CLASS_AND_WEIGHT = 8 + 4


def lengths(most, elements=None):
    return Statistics(1, 0, 1.0, 0.0, 0, most, (0.0,), max_length=elements)


@pytest.mark.parametrize(
    ("feature", "bytes_"),
    [
        (Feature("x", "numeric", "float32"), 4),
        (Feature("smokes", "boolean", "float32"), 4),
        (Feature("site", "categorical", "int64"), 8),
        (Feature("taken", "timestamp", "int64"), 8),
        (Feature("photo", "image", "uint8", shape=(32, 16, 3)), 32 * 16 * 3),
        (Feature("scan", "image", "uint16", shape=(32, 16, 1)), 32 * 16 * 2),
        (Feature("pulse", "sequence", "float32", statistics=lengths(1, 80)), 8 + 80 * 4),
        (Feature("note", "text", "string", statistics=lengths(200)), 8 + 200 * 8),
        (Feature("note", "text", "string", statistics=lengths(10**6)), 8 + 1023 * 8),
    ],
)
def test_each_kind_of_feature_has_its_size(feature, bytes_):
    assert decoded.example_bytes([feature], CLASS) == bytes_ + CLASS_AND_WEIGHT


def test_a_mask_has_a_byte_for_each_pixel():
    image = Feature("photo", "image", "uint8", shape=(32, 16, 3))
    assert decoded.example_bytes([image], Label.of_masks(image)) == 32 * 16 * 4 + 4


@pytest.mark.parametrize(
    ("size", "places"),
    [
        (50, [decoded.MEMORY, decoded.DISK]),
        (51, [decoded.DISK]),
        (80, [decoded.DISK]),
        (81, []),
    ],
)
def test_half_of_the_memory_may_be_taken_and_most_of_the_disk(size, places):
    assert decoded.places(size, memory=100, disk=100) == places
