"""Assignment of rows to sets."""

import pyarrow as pa
import pytest
from google.cloud import aiplatform_v1 as api
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.vertex import splits
from local_gcp.wire import RpcError

PARTS = st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)).map(
    lambda parts: tuple(part / (sum(parts) or 1) for part in parts)
)


@given(st.integers(0, 500), PARTS)
def test_fractions_are_kept_to_a_row_and_every_row_is_in_one_set(rows, parts):
    sets = splits.by_fraction(rows, parts)
    assert len(sets) == rows
    for place, part in enumerate(parts):
        assert (sets == place).sum() == pytest.approx(part * rows, abs=1.01)
    assert (splits.by_fraction(rows, parts) == sets).all(), "and again the same"


def test_rows_without_a_known_set_are_ignored():
    values = pa.chunked_array([["test", "TEST", "training"], [None, "validation", "train"]])
    assert splits.by_name(values).tolist() == [2, -1, 0, -1, 1, -1]
    assert splits.by_name(pa.chunked_array([[1, 2]])).tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("given_", "parts"),
    [
        ({}, (0.8, 0.1, 0.1)),
        ({"training_fraction": 0.6}, (0.6, 0.2, 0.2)),
        ({"training_fraction": 0.5, "test_fraction": 0.2}, (0.5, 0.3, 0.2)),
        ({"training_fraction": 0.5, "validation_fraction": 0.2, "test_fraction": 0.1},
         (0.7, 0.2, 0.1)),
    ],
)  # fmt: skip
def test_what_is_left_of_the_fractions_goes_to_the_sets_without_one(given_, parts):
    found = splits.fractions(api.FractionSplit(**given_), "split")
    assert found == pytest.approx(parts)


@pytest.mark.parametrize(
    ("config", "tabular", "words"),
    [
        ({"fraction_split": {"training_fraction": 1.2}}, True, "sum up to 1"),
        ({"filter_split": {"training_filter": "-"}}, True, "Only datasets of images"),
        ({"predefined_split": {"key": "use"}}, False, "Only tabular datasets"),
        ({"predefined_split": {}}, True, "predefined_split.key; Message: Required"),
        ({"timestamp_split": {"key": "a"}}, True, "does not emulate config.timestamp_split"),
        ({"filter_split": {"training_filter": "-"}}, False, "validation_filter; Message: Required"),
        ({"stratified_split": {"key": "a"}}, True, "does not emulate config.stratified_split"),
    ],
)
def test_what_is_refused(config, tabular, words):
    with pytest.raises(RpcError, match=words):
        splits.check(api.InputDataConfig(**config), tabular, "config")
