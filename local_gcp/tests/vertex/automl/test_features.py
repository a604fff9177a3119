"""Columns as numbers."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_gcp.vertex.automl.features import DataError, Features
from local_gcp.vertex.automl.inputs import Transformation

SAMPLES = {
    "auto": st.one_of(st.none(), st.floats(), st.integers(-(2**53), 2**53)),
    "numeric": st.one_of(st.none(), st.floats()),
    "categorical": st.one_of(st.none(), st.text(max_size=3)),
    "text": st.one_of(st.none(), st.text()),
    "timestamp": st.one_of(st.none(), st.datetimes()),
    "repeated_numeric": st.lists(st.one_of(st.none(), st.floats())),
}


# The first text that hypothesis draws takes a second: its table of characters.
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=50)
@given(st.data(), st.sampled_from(sorted(SAMPLES)))
def test_whatever_comes_there_are_finite_numbers_of_one_shape(data, kind):
    training, other = (data.draw(st.lists(SAMPLES[kind], min_size=1, max_size=9)) for _ in "ab")
    types = {
        "categorical": pa.string(),
        "text": pa.string(),
        "timestamp": pa.timestamp("us"),
        "repeated_numeric": pa.list_(pa.float64()),
    }
    make = lambda values: pa.table({"c": pa.array(values, types.get(kind, pa.float64()))})  # noqa: E731
    encode = Features(make(training), [Transformation("c", kind)])
    shapes = {encode(make(values)).shape[1] for values in (training, other)}
    assert len(shapes) == 1
    assert np.isfinite(encode(make(other))).all()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "numeric"),
        ([0.5, None], "numeric"),
        (["1", "2.5", None], "numeric"),
        (["2024-01-01T00:00:00Z", "2024-05-01"], "timestamp"),
        ([datetime.date(2024, 1, 1)], "timestamp"),
        ([True, False], "categorical"),
        (["red", "blue", "red", "blue"], "categorical"),
        ([[1.0, 2.0], []], "repeated_numeric"),
        ([f"some words about {n} things" for n in range(200)], "text"),
    ],
)
def test_auto_looks_at_the_type_and_at_text(values, kind):
    features = Features(pa.table({"c": values}), [Transformation("c")])
    assert features.transformations[0].kind == kind


def test_everything_is_learned_from_the_training_rows():
    table = pa.table({"n": [1.0, 3.0], "c": ["a", "b"]})
    encode = Features(pa.table({"n": [0.0, 2.0] * 5, "c": ["a"] * 10}), [
        Transformation("n", "numeric"), Transformation("c", "categorical"),
    ])  # fmt: skip
    found = encode(table)
    assert found[:, 0].tolist() == [0, 2], "mean 1, deviation 1"
    assert found[:, -2:].tolist() == [[1, 0], [0, 1]], "b is one of the others"


def test_rows_that_lack_what_must_be_there():
    strict = [Transformation("n", "numeric", nullable=False), Transformation("m", "numeric")]
    table = pa.table({"n": ["1", "x", None], "m": [None, 1.0, 1.0]})
    assert Features(table, strict).incomplete(table).tolist() == [False, True, True]


def test_columns_that_cannot_be_used_are_named():
    table = pa.table({"s": [{"a": 1}], "b": [b"1"], "n": [1]})
    for name, words in {
        "x": "no column 'x'; there are s, b, n",
        "s": "'s' is struct",
        "b": "'b' is binary",
    }.items():
        with pytest.raises(DataError, match=words):
            Features(table, [Transformation(name)])
    with pytest.raises(DataError, match="not an array"):
        Features(table, [Transformation("n", "repeated_numeric")])
