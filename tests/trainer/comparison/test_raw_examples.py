"""Test rows as BigQuery writes them, as a client sends them, and as serving reads them."""

import datetime
import decimal
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.raw_tables import write_rows
from trainer.comparison import raw_examples
from trainer.comparison.raw_examples import RawExamplesError
from trainer.serving.rows import Field, RowReader
from trellis_contracts.dataset import DatasetDescription, Split
from trellis_contracts.dataset_features import Feature

KEYS = ["a", "b", "c"]


def table_dataset(**kinds):
    return DatasetDescription(
        fingerprint="f",
        source={},
        split=Split("column ML_USE"),
        features=tuple(Feature(name, kind, "", column=name) for name, kind in kinds.items()),
        classes=("no", "yes"),
        counts={},
        files={},
        rejected=0,
        task="binary_classification",
    )


def instances(folder, kind, values, **options):
    """Return the instances of three test rows, each between rows of other splits; as JSON brings
    them.
    """
    table = {
        "key": ["t1", *KEYS, "v1"],
        "split": ["train", "test", "test", "test", "validation"],
        "label": ["no", "yes", "no", "yes", "no"],
        "x": pa.concat_arrays([values[:1], values, values[:1]]),
    }
    write_rows(folder, pa.table(table))
    found = list(raw_examples.of_test_split(str(folder), table_dataset(x=kind), **options))
    found.sort(key=lambda example: example.key)
    assert all(set(example.instance) == {"x"} for example in found)
    return json.loads(json.dumps([example.instance["x"] for example in found], allow_nan=False))


def served(kind, values):
    """Return the inputs of the model's signature for these values of instances."""
    body = json.dumps({"instances": [{"x": value} for value in values]}).encode()
    return [
        row.values[0] for row in RowReader([Field("x", kind, "x", 9, "x")]).read(body).instances
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([1.5, None, math.nan]), [1.5, None, None]),
        (pa.array([2**53 + 1, None, -3]), [2.0**53, None, -3.0]),
        (
            pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-7")], pa.decimal128(38, 9)),
            [1.25, None, -7.0],
        ),
        (
            pa.array(
                [decimal.Decimal("0.25"), None, decimal.Decimal(10**30)], pa.decimal256(76, 38)
            ),
            [0.25, None, 1e30],
        ),
    ],
)
def test_numbers(tmp_path, values, expected):
    found = instances(tmp_path, "numeric", values)
    assert found[1] is None
    # Doubles made of decimals may be off in the last digit, which float32 does not have.
    read = np.array(served("numeric", found), np.float32)
    np.testing.assert_array_equal(read, np.array(expected, np.float32))


def test_booleans(tmp_path):
    found = instances(tmp_path, "boolean", pa.array([True, None, False]))
    assert found == [True, None, False]
    np.testing.assert_array_equal(served("boolean", found), [1.0, math.nan, 0.0])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array(["ümlaut", None, ""]), ["ümlaut", None, ""]),
        (pa.array(["ümlaut", None, ""], pa.large_string()), ["ümlaut", None, ""]),
        (pa.array([7, None, -3]), ["7", None, "-3"]),
    ],
)
def test_terms(tmp_path, values, expected):
    found = instances(tmp_path, "categorical", values)
    assert found == expected
    terms = [b"\xff" if term is None else term.encode() for term in expected]
    assert served("categorical", found) == terms


NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 250_000)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            pa.array([datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)]),
            "2024-02-29T00:00:00Z",
        ),
        (
            pa.array(["2024-02-29T12:00:00.250000", None, "1969-12-31T00:00:00"]),
            "2024-02-29T12:00:00.250000Z",
        ),
        (
            pa.array([NOON, None, datetime.datetime(1969, 12, 31)], pa.timestamp("us")),
            "2024-02-29T12:00:00.250000Z",
        ),
        (
            pa.array([NOON, None, datetime.datetime(1969, 12, 31)], pa.timestamp("us", "UTC")),
            "2024-02-29T12:00:00.250000Z",
        ),
        (
            pa.array([NOON, None, datetime.datetime(1969, 12, 31)], pa.timestamp("ns", "UTC")),
            "2024-02-29T12:00:00.250000Z",
        ),
    ],
)
def test_times(tmp_path, values, text):
    found = instances(tmp_path, "timestamp", values)
    assert found == [text, None, "1969-12-31T00:00:00Z"]
    micros = datetime.datetime.fromisoformat(text).timestamp() * 1e6
    assert served("timestamp", found) == [micros, -(2**63), -86_400_000_000]


@given(st.datetimes())
def test_every_time_comes_back(time):
    microseconds = (time - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    assert served("timestamp", [raw_examples.time_text(microseconds)]) == [microseconds]


@pytest.mark.parametrize("element", [pa.float64(), pa.int64()])
def test_sequences(tmp_path, element):
    found = instances(tmp_path, "sequence", pa.array([[1, None, 2], None, []], pa.list_(element)))
    assert found == [[1, None, 2], None, []]
    np.testing.assert_array_equal(served("sequence", found)[0], [1, math.nan, 2])
    assert served("sequence", found)[1:] == [[], []]


def test_an_element_that_is_nan_is_not_known(tmp_path):
    values = pa.array([[math.nan, 1.0], None, []], pa.list_(pa.float64()))
    assert instances(tmp_path, "sequence", values)[0] == [None, 1.0]


def test_some_keys_and_columns_only(tmp_path):
    assert instances(tmp_path, "numeric", pa.array([1.0, 2.0, 3.0]), keys=["c", "a"]) == [1.0, 3.0]
    none = raw_examples.of_test_split(str(tmp_path), table_dataset(x="numeric"), names={})
    found = {example.key: (example.label, example.instance) for example in none}
    assert found == {"a": ("yes", {}), "b": ("no", {}), "c": ("yes", {})}


def test_rows_that_are_gone(tmp_path):
    dataset = table_dataset(x="numeric")
    with pytest.raises(
        RawExamplesError, match=r"no rows-\*.parquet in .*/source/: the dataset's raw rows"
    ):
        list(raw_examples.of_test_split(str(tmp_path), dataset))
    instances(tmp_path, "numeric", pa.array([1.0, 2.0, 3.0]))
    with pytest.raises(RawExamplesError, match=r"rows-0+\.parquet has no column y"):
        list(raw_examples.of_test_split(str(tmp_path), table_dataset(x="numeric", y="boolean")))
    (tmp_path / "source/rows-000000000000.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(RawExamplesError, match=r"rows-0+\.parquet cannot be read"):
        list(raw_examples.of_test_split(str(tmp_path), dataset))
