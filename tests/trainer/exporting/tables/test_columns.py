"""columns.json is understood or refused by name; a Parquet file's schema is what it says."""

import json

import pyarrow as pa
import pytest

from tests.trainer.exporting.tables.helpers import document, feature
from tests.wording import says
from trainer.exporting import ExportError
from trainer.exporting.tables.columns import parse

ADDRESS = "gs://b/source/columns.json"


def parsed(features=None, **changed):
    content = document(features or [feature("a")], 10, **changed)
    return parse(json.dumps(content).encode(), ADDRESS)


def test_what_is_written_is_read():
    columns = parsed(
        [feature("radius_mean", name="radius mean"), feature("s", "categorical", "STRING")]
    )
    assert columns.task == "binary_classification"
    assert columns.split.ranges["validation"] == (80, 90)
    assert columns.names == ["key", "split", "label", "radius_mean", "s"]
    assert [f.name for f in columns.of("numeric")] == ["radius mean"]
    assert says(columns.features[0].title, "'radius mean'", "radius_mean")
    assert columns.source["rows"] == 10


FORM = {"size": [8, 8], "channels": 3, "encoding": "png", "resize": "crop", "scale": None}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"schema": 2}, "schema: expected 1, got 2"),
        ({"task": "clustering"}, 'task: expected one of "binary_classification"'),
        ({"split": {"train": [0, 80], "validation": [85, 90], "test": [90, 100]}}, "do not cover"),
        ({"split": {"train": [0, 80]}}, "split: the key 'validation' is missing"),
        ({"features": []}, "features: expected a length of at least 1"),
        ({"features": [feature("a"), feature("a", name="b")]}, "two features have the column 'a'"),
        ({"features": [feature("a"), feature("b", name="a")]}, "two features have the name 'a'"),
        ({"features": [feature("a b")]}, "a column's name is a plain identifier"),
        ({"features": [feature("label")]}, "other than key, split, label"),
        ({"features": [feature("a", "image", "STRING")]}, "has the form `image`"),
        ({"features": [feature("a") | {"image": FORM}]}, "has the form `image`"),
        (
            {"features": [feature("a", "video")]},
            ("features[0]", '"numeric", "boolean"'),
        ),
        (
            {"features": [feature("a", "boolean")]},
            "boolean of type FLOAT64; that kind is of type B",
        ),
        ({"features": [{"name": "a"}]}, "features[0]: the key 'column' is missing"),
        ({"vocabulary": 0}, "vocabulary: expected at least 1, got 0"),
        ({"label": None}, "label: expected object, got null"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_address(changed, message):
    with pytest.raises(ExportError) as refused:
        parse(json.dumps(document([feature("a")], 10) | changed).encode(), ADDRESS)
    assert ADDRESS in str(refused.value)
    assert says(str(refused.value), message)


def test_what_is_no_json_is_refused():
    with pytest.raises(ExportError, match=r"columns\.json is not JSON"):
        parse(b"{", ADDRESS)


SCHEMA = pa.schema(
    {"key": pa.string(), "split": pa.string(), "label": pa.string(), "a": pa.float64()}
)


def test_a_schema_as_stated_is_accepted_with_further_columns():
    parsed().check_schema(SCHEMA.append(pa.field("more", pa.int8())), "rows-0.parquet")


@pytest.mark.parametrize(
    ("type_", "kind", "arrow"),
    [
        ("INT64", "numeric", pa.int64()),
        ("INT64", "categorical", pa.int64()),
        ("NUMERIC", "numeric", pa.decimal128(38, 9)),
        ("BIGNUMERIC", "numeric", pa.decimal256(76, 38)),
        ("BOOL", "boolean", pa.bool_()),
        ("DATE", "timestamp", pa.date32()),
        ("DATETIME", "timestamp", pa.timestamp("us")),
        ("DATETIME", "timestamp", pa.string()),
        ("TIMESTAMP", "timestamp", pa.timestamp("us", "UTC")),
        ("ARRAY<FLOAT64>", "sequence", pa.list_(pa.float64())),
        ("ARRAY<INT64>", "sequence", pa.list_(pa.int64())),
    ],
)
def test_each_type_has_its_arrow_type(type_, kind, arrow):
    columns = parsed([feature("a", kind, type_)])
    columns.check_schema(SCHEMA.set(3, pa.field("a", arrow)), "rows-0.parquet")
    with pytest.raises(ExportError, match=f"column a is binary, not {type_}"):
        columns.check_schema(SCHEMA.set(3, pa.field("a", pa.binary())), "rows-0.parquet")


def test_all_differences_are_named():
    columns = parsed([feature("a"), feature("b")], task="regression")
    with pytest.raises(ExportError) as refused:
        columns.check_schema(SCHEMA, "gs://b/rows-0.parquet")
    differences = ("label is string, not FLOAT64", "b is missing")
    assert says(str(refused.value), "gs://b/rows-0.parquet", "columns.json", differences)
