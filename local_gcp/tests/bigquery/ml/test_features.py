"""Automatic preprocessing: what each type of column becomes."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.ml import features
from local_gcp.bigquery.ml.features import NULL_CATEGORY, Encoder, Recipe

RAW = Recipe(standardize=False)
LABELS = Recipe(standardize=False, category="LABEL_ENCODING")


def fitted(recipe=RAW, **columns):
    rows = pa.table(columns)
    encoder = Encoder.fit(rows, rows.column_names, recipe)
    return encoder, encoder.transform(rows, "PREDICT")


def encode(encoder, **columns):
    return encoder.transform(pa.table(columns), "PREDICT")


def refused(call, *words):
    with pytest.raises(BigQueryError) as caught:
        call()
    assert all(word in caught.value.message for word in words), caught.value.message
    return caught.value.reason


@given(st.lists(st.floats(-1e6, 1e6) | st.none(), min_size=1, max_size=30))
@settings(max_examples=50)
def test_numbers_are_standardised_and_null_is_the_mean(values):
    encoder, matrix = fitted(Recipe(), a=pa.array(values, pa.float64()))
    known = np.array([v for v in values if v is not None])
    assert matrix[[v is None for v in values]] == pytest.approx(0)
    if len(known) and known.std() > 1e-3:
        expected = (known - known.mean()) / known.std()
        assert matrix[[v is not None for v in values], 0] == pytest.approx(expected, abs=1e-6)
    assert np.isfinite(encode(encoder, a=pa.array([None, 3.0]))).all()


def test_all_kinds_of_numbers_are_one():
    _, matrix = fitted(
        a=pa.array([1, 3]),
        b=pa.array([1.5, None]),
        c=pa.array([Decimal("1.25"), None], pa.decimal128(38, 9)),
        d=pa.array([float("nan"), 2.0]),
    )
    assert matrix.tolist() == [[1, 1.5, 1.25, 2], [3, 1.5, 1.25, 2]]


def test_a_column_of_nulls_alone_is_a_constant():
    encoder, matrix = fitted(Recipe(), a=pa.array([None, None], pa.float64()))
    assert matrix.tolist() == [[0], [0]]
    assert encoder.information[0]["null_count"] == 2
    assert encoder.information[0]["mean"] is None


def test_infinity_is_refused_by_its_column_in_training_and_prediction():
    bad = pa.array([1.0, float("inf")])
    assert refused(lambda: fitted(size=bad), "infinite", "size") == "invalidQuery"
    encoder, _ = fitted(size=pa.array([1.0, 2.0]))
    refused(lambda: encode(encoder, size=bad), "infinite", "size")


def test_categories_are_one_hot_null_is_one_and_unseen_ones_are_nothing():
    encoder, matrix = fitted(c=["b", "a", None, "b"])
    assert encoder.slots[0].categories == ["a", "b", NULL_CATEGORY]
    assert matrix.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert encode(encoder, c=["never seen"]).tolist() == [[0, 0, 0]]


def test_dummy_encoding_drops_the_most_frequent_category():
    encoder, matrix = fitted(Recipe(category="DUMMY_ENCODING"), c=["b", "a", "b", "c"])
    assert (encoder.slots[0].dropped, encoder.slots[0].categories) == ("b", ["a", "c"])
    assert matrix.tolist() == [[0, 0], [1, 0], [0, 0], [0, 1]]


def test_label_encoding_numbers_categories_alphabetically_null_and_unseen_are_0():
    encoder, matrix = fitted(LABELS, c=["b", "a", None])
    assert matrix.tolist() == [[2], [1], [0]]
    assert encode(encoder, c=["z", "b"]).tolist() == [[0], [2]]


def test_everything_that_is_no_number_is_a_category():
    encoder, _ = fitted(
        flag=[True, False],
        day=[dt.date(2024, 1, 3), None],
        at=pa.array([dt.datetime(2024, 1, 3, 4, 5), None], pa.timestamp("us")),
        clock=[dt.time(4, 5), None],
        raw=[b"\xff", b"a"],
    )
    found = {slot.name: slot.categories[0] for slot in encoder.slots}
    assert found == {
        "flag": "false",
        "day": "2024-01-03",
        "at": "2024-01-03 04:05:00.000000",
        "clock": "04:05:00.000000",
        "raw": "/w==",
    }


def test_a_timestamp_is_seconds_and_seven_parts():
    # A Sunday, in the second week of 2024 that begins on a Sunday.
    moment = dt.datetime(2024, 1, 14, 9, 30, tzinfo=dt.UTC)
    encoder, matrix = fitted(at=pa.array([moment, None], pa.timestamp("us", tz="UTC")))
    assert matrix[:, 0].tolist() == [moment.timestamp()] * 2
    parts = {slot.name: slot.categories[0] for slot in encoder.slots[1:]}
    assert parts == {
        "_TS_DOM_at": "14",
        "_TS_DOW_at": "1",
        "_TS_MOY_at": "1",
        "_TS_HOD_at": "9",
        "_TS_MOH_at": "30",
        "_TS_WOY_at": "2",
        "_TS_YEAR_at": "2024",
    }
    assert [i["input"] for i in encoder.information] == ["at"]


def test_weeks_of_the_year_begin_on_sunday():
    days = [dt.datetime(2024, 1, 1) + dt.timedelta(d) for d in range(366)]
    array = pa.array([d.replace(tzinfo=dt.UTC) for d in days], pa.timestamp("us", tz="UTC"))
    columns = {c.name: c.array.to_pylist() for c in features._timestamp("t", array)}
    assert columns["_TS_WOY_t"] == [str(int(d.strftime("%U"))) for d in days]


def test_arrays_of_numbers_are_vectors_of_one_length():
    encoder, matrix = fitted(Recipe(), v=pa.array([[1.0, 20.0], [3.0, 40.0]]))
    assert matrix.tolist() == [[1, 20], [3, 40]]  # not standardised
    assert encoder.information[0]["dimension"] == 2
    assert encode(encoder, v=pa.array([[], [5.0, 6.0]])).tolist() == [[0, 0], [5, 6]]
    refused(lambda: encode(encoder, v=pa.array([[1.0]])), "v", "2 elements")
    refused(lambda: fitted(v=pa.array([[1.0], [1.0, 2.0]])), "different lengths")


def test_arrays_of_texts_are_multi_hot():
    encoder, matrix = fitted(v=pa.array([["a", "b"], [], ["b"]]))
    assert matrix.tolist() == [[1, 1], [0, 0], [0, 1]]
    assert encode(encoder, v=pa.array([["z", "a"]])).tolist() == [[1, 0]]


def test_a_struct_is_its_fields():
    encoder, _ = fitted(s=pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": None}]))
    assert [slot.name for slot in encoder.slots] == ["s_a", "s_b"]


def test_what_has_no_transformation_is_refused_by_name():
    sparse = pa.array([[{"a": 1, "b": 2.0}]])
    assert refused(lambda: fitted(v=sparse), "ARRAY<STRUCT", "v") == "notImplemented"


def test_columns_are_found_by_name_whatever_their_order_case_and_company():
    encoder, _ = fitted(a=[1.0, 2.0], b=["x", "y"])
    assert encode(encoder, other=[0], B=["y"], A=[2.0]).tolist() == [[2, 0, 1]]


def test_a_missing_column_is_named_in_bigquerys_words():
    encoder, _ = fitted(a=[1.0, 2.0])
    message = "Column a is not found in the input data to the PREDICT function."
    assert refused(lambda: encode(encoder, b=[1.0]), message) == "invalidQuery"


def test_types_are_coerced_as_bigquery_does_and_no_further():
    encoder, _ = fitted(a=[1.0, 2.0], n=[1, 2], c=["x", "y"])
    assert encode(encoder, a=[3], n=[4], c=["x"]).tolist() == [[3, 4, 1, 0]]
    refused(lambda: encode(encoder, a=["3"], n=[4], c=["x"]), "Column a has type STRING")
    refused(lambda: encode(encoder, a=[3.0], n=[4.5], c=["x"]), "Column n has type FLOAT64")
    refused(lambda: encode(encoder, a=[3.0], n=[4], c=[5]), "Column c has type INT64")
    nothing = pa.array([], pa.string())  # a wrong type is wrong before there are rows
    refused(lambda: encode(encoder, a=nothing, n=nothing, c=nothing), "Column a has type STRING")


def test_too_many_categories_name_the_column(monkeypatch):
    monkeypatch.setattr(features, "LARGEST_MATRIX", 1000)
    names = [str(i) for i in range(100)]
    assert refused(lambda: fitted(id=names), "column id alone has 100") == "resourcesExceeded"
