"""Data split: how many rows, which ones, and always the same."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.ml import options
from local_gcp.bigquery.ml.split import ordered, split


def divided(rows, **given):
    checked = options.check({"model_type": "LOGISTIC_REG", **given})
    return split(ordered(rows), checked)


def numbers(n):
    return pa.table({"key": np.arange(n), "text": [str(i % 7) for i in range(n)]})


@pytest.mark.parametrize(
    ("n", "given", "held"),
    [
        (499, {}, 0),
        (500, {}, 100),
        (50_000, {}, 10_000),
        (60_000, {}, 10_000),
        (100, {"data_split_method": "RANDOM"}, 0),
        (100, {"data_split_method": "RANDOM", "data_split_eval_fraction": 0.3}, 30),
        (1000, {"data_split_method": "NO_SPLIT"}, 0),
    ],
)
def test_sizes(n, given, held):
    training, evaluation = divided(numbers(n), **given)
    assert (training.num_rows, evaluation.num_rows) == (n - held, held)
    assert sorted(training["key"].to_pylist() + evaluation["key"].to_pylist()) == list(range(n))


@given(st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_a_random_split_depends_on_the_rows_and_not_on_their_order(random):
    order = list(range(600))
    random.shuffle(order)
    rows = numbers(600)
    one, other = divided(rows)[1], divided(rows.take(order))[1]
    assert one["key"].to_pylist() == other["key"].to_pylist()


def test_a_random_split_looks_random():
    _, held = divided(numbers(10_000))
    keys = held["key"].to_numpy()
    assert abs(keys.mean() - 5000) < 200
    assert len(set(held["text"].to_pylist())) == 7


def test_custom_takes_true_and_null_for_evaluation_and_the_column_is_no_feature():
    rows = pa.table({"a": [1, 2, 3, 4], "Held": [True, None, False, False]})
    training, held = divided(rows, data_split_method="CUSTOM", data_split_col="held")
    assert sorted(training["a"].to_pylist()) == [3, 4]
    assert sorted(held["a"].to_pylist()) == [1, 2]
    assert training.column_names == held.column_names == ["a"]


def test_custom_needs_a_bool():
    rows = pa.table({"a": [1], "held": ["TEST"]})
    with pytest.raises(BigQueryError, match="must be of type BOOL"):
        divided(rows, data_split_method="CUSTOM", data_split_col="held")
    with pytest.raises(BigQueryError, match="nowhere is not found"):
        divided(rows, data_split_method="CUSTOM", data_split_col="nowhere")


def test_seq_evaluates_on_the_last_rows_and_on_nulls():
    days = [dt.datetime(2024, 1, d, tzinfo=dt.UTC) for d in range(1, 10)]
    rows = pa.table({"a": range(10), "at": pa.array([*days, None], pa.timestamp("us", tz="UTC"))})
    training, held = divided(
        rows, data_split_method="SEQ", data_split_col="at", data_split_eval_fraction=0.3
    )
    assert sorted(held["a"].to_pylist()) == [7, 8, 9]
    assert sorted(training["a"].to_pylist()) == list(range(7))
