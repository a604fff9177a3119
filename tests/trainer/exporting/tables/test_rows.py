"""Every type of column arrives as the numbers, terms and lists that the records will hold."""

import datetime
import decimal
import json
import math

import numpy as np
import pyarrow as pa
import pytest

from tests.trainer.exporting.tables.helpers import document, feature, split_of
from tests.wording import says
from trainer.exporting.splits import fingerprints
from trainer.exporting.tables.columns import parse
from trainer.exporting.tables.rows import block_schema, convert, matrix
from trellis_contracts.dataset_features import NULL_TIMESTAMP

KEYS = ["a", "é", "猫"]


def converted(features, task="binary_classification", keys=KEYS, label=None, **columns):
    """The Rows of three rows, label "yes" or 1.0 unless given."""
    content = json.dumps(document(features, len(keys), task=task)).encode()
    label = label or ([1.0] * len(keys) if task == "regression" else ["yes"] * len(keys))
    batch = pa.RecordBatch.from_pydict(
        {"key": keys, "split": split_of(keys), "label": label, **columns}
    )
    return convert(batch, parse(content, "columns.json"))


@pytest.mark.parametrize(
    ("type_", "values", "expected"),
    [
        ("FLOAT64", pa.array([1.5, None, math.nan]), [1.5, math.nan, math.nan]),
        ("INT64", pa.array([2**53 + 1, None, -3]), [2.0**53, math.nan, -3.0]),
        (
            "NUMERIC",
            pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-7")], pa.decimal128(38, 9)),
            [1.25, math.nan, -7.0],
        ),
    ],
)
def test_numbers_become_float32_and_null_nan(type_, values, expected):
    rows = converted([feature("x", type_=type_)], x=values)
    numbers = matrix(rows.block, "numeric")
    assert numbers.dtype == np.float32
    np.testing.assert_array_equal(numbers, np.array(expected, np.float32)[:, None])
    assert rows.nans == ({"x": 1} if type_ == "FLOAT64" else {})
    assert not rows.findings


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("DATE", pa.array([datetime.date(1969, 12, 31), None, datetime.date(2024, 2, 29)])),
        (
            "DATETIME",
            pa.array(["1969-12-31T00:00:00", None, "2024-02-29 00:00:00"], pa.string()),
        ),
        (
            "TIMESTAMP",
            pa.array(
                [-86_400_000_000_000, None, 1_709_164_800_000_000_000], pa.timestamp("ns", "UTC")
            ),
        ),
    ],
)
def test_times_become_microseconds_since_1970(type_, values):
    rows = converted([feature("t", "timestamp", type_)], t=values)
    assert matrix(rows.block, "timestamp")[:, 0].tolist() == [
        -86_400_000_000,
        NULL_TIMESTAMP,
        1_709_164_800_000_000,
    ]


def test_a_rows_numbers_stand_side_by_side_in_the_order_of_the_features():
    features = [
        feature("b", "boolean", "BOOL"),
        feature("s", "categorical", "STRING"),
        feature("x"),
    ]
    rows = converted(features, b=[True, False, None], s=["u", None, ""], x=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(matrix(rows.block, "numeric"), [[1, 1], [0, 2], [math.nan, 3]])
    np.testing.assert_array_equal(matrix(rows.block.slice(1, 1), "numeric"), [[0, 2]])
    assert rows.block.column("categorical/s").to_pylist() == ["u", None, ""]


def test_whole_numbers_may_be_terms():
    rows = converted([feature("w", "categorical", "INT64")], w=[7, None, -1])
    assert rows.block.column("categorical/w").to_pylist() == ["7", None, "-1"]


@pytest.mark.parametrize("type_", ["ARRAY<FLOAT64>", "ARRAY<INT64>"])
def test_lists_become_lists_of_float32_and_null_an_empty_one(type_):
    element = pa.float64() if "FLOAT" in type_ else pa.int64()
    values = pa.array([[1, None, 3], None, []], pa.list_(element))
    rows = converted([feature("p", "sequence", type_)], p=values)
    first, *others = rows.block.column("sequence/p").to_pylist()
    assert (first[0], first[2]) == (1.0, 3.0)
    assert math.isnan(first[1])
    assert others == [[], []]
    assert rows.nans == {"p": 1}


def test_an_infinite_element_is_found_in_its_row():
    values = pa.array([[], [1.0], [2.0, math.inf, -math.inf]])
    rows = converted([feature("p", "sequence", "ARRAY<FLOAT64>")], p=values)
    ((what, count),) = rows.findings.counts.items()
    assert says(what, "'p'", "element", "infinite")
    assert (count, rows.findings.keys[what]) == (1, ["猫"])


def test_a_block_has_its_schema_and_the_fingerprints_of_the_keys():
    features = [feature("x"), feature("t", "timestamp", "DATE")]
    days = pa.array([1, 2, 3], pa.date32())
    rows = converted(features, task="regression", x=[1.0, 2.0, 3.0], t=days, label=[0.5, 1.5, 2.5])
    assert rows.block.column("fingerprint").to_pylist() == fingerprints(KEYS).tolist()
    assert rows.block.column("label").to_pylist() == [0.5, 1.5, 2.5]
    content = json.dumps(document(features, 3, task="regression")).encode()
    assert rows.block.schema == block_schema(parse(content, "columns.json"))
