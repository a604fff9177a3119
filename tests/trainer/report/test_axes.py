"""Axes show every value, logarithmic where it helps, with round labels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.report.axes import axis, categories, logarithmic_labels, scale


@given(st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=1, max_size=20))
def test_every_value_lies_within_the_domain_which_is_never_empty(values):
    low, high = scale(values)["domain"]
    assert low <= min(values) <= max(values) <= high
    assert low < high


@given(st.floats(1e-12, 1e12), st.floats(1.01, 1e12))
def test_labels_of_a_logarithmic_axis_lie_within_it_and_are_few(low, ratio):
    labels = logarithmic_labels(low, low * ratio)
    assert 1 <= len(labels) <= 10
    assert all(low <= label <= low * ratio for label in labels)
    assert labels == sorted(set(labels))


def test_a_wide_positive_range_is_logarithmic():
    assert scale([0.0001, 0.1])["type"] == "log"
    assert "type" not in scale([0.0, 0.1])
    assert "type" not in scale([0.9, 0.99])


def test_the_experiment_decides_whether_a_scale_is_logarithmic():
    assert "type" not in scale([0.001, 0.5], logarithmic=False)
    assert scale([0.4, 0.5], logarithmic=True)["type"] == "log"
    # A logarithm of zero or less does not exist, whatever the search was.
    assert "type" not in scale([0.0, 0.5], logarithmic=True)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0008, 0.2, [0.001, 0.01, 0.1]),
        (0.02, 4, [0.03, 0.1, 0.3, 1, 3]),
        (2, 9, [2, 5]),
        (0.021, 0.035, [0.021, 0.035]),
    ],
)
def test_labels_are_powers_of_ten_and_what_lies_between_them_where_they_are_few(low, high, labels):
    assert logarithmic_labels(low, high) == labels


def test_only_whole_numbers_label_an_axis_of_epochs():
    assert axis(scale([1, 3]), 8, whole=True) == {"tickCount": 8, "tickMinStep": 1, "format": "d"}


def test_names_and_a_few_whole_numbers_are_categories_in_order():
    assert categories(["sgd", "adam", "sgd"]) == ["adam", "sgd"]
    assert categories([128.0, 32.0, 64.0]) == [32.0, 64.0, 128.0]
    assert categories([True, False]) == [False, True]
    assert categories([0.1, 0.25]) is None
    assert categories(list(range(20))) is None
