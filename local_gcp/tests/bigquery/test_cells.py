"""Values of cells as REST writes them and the client reads them."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from google.cloud.bigquery._helpers import _row_tuple_from_json
from google.cloud.bigquery.schema import SchemaField
from hypothesis import given, settings
from hypothesis import strategies as st

from local_gcp.bigquery.cells import float_text, rest_rows
from local_gcp.bigquery.schema import Field, arrow_schema


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.1, "0.1"), (1e7, "1.0E7"), (-1.5e-5, "-1.5E-5"), (123456789.125, "1.23456789125E8")),
        *((math.nan, "NaN"), (-math.inf, "-Infinity"), (0.0, "0.0"), (5e-324, "5.0E-324")),
    ],
)
def test_floats_in_rest(value, text):
    assert float_text(value) == text


@given(st.floats(allow_nan=False))
def test_floats_survive_rest(value):
    assert float(float_text(value)) == value


VALUES = {
    "INT64": st.integers(-(2**63), 2**63 - 1),
    "FLOAT64": st.floats(allow_nan=False),
    "NUMERIC": st.decimals(min_value=-(10**20), max_value=10**20, places=9),
    "BOOL": st.booleans(),
    "STRING": st.text(st.characters(exclude_categories=["Cs"])),
    "BYTES": st.binary(),
    "DATE": st.dates(),
    "TIME": st.times(),
    "DATETIME": st.datetimes(),
    "TIMESTAMP": st.datetimes(timezones=st.just(dt.UTC)),
}


@given(st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()}))
@settings(max_examples=80)
def test_the_client_reads_what_rest_writes(row):
    fields = [Field(name.lower(), name) for name in VALUES]
    fields += [
        Field("many", "NUMERIC", "REPEATED"),
        Field("both", "STRUCT", fields=(Field("a", "BYTES"), Field("b", "DATE", "REPEATED"))),
    ]
    given_ = {name.lower(): value for name, value in row.items()}
    given_["many"] = [v for v in (row["NUMERIC"], Decimal("1.5")) if v is not None]
    given_["both"] = {"a": row["BYTES"], "b": []}
    table = pa.Table.from_pylist([given_], schema=arrow_schema(fields))
    (written,) = rest_rows(fields, table, "INT64")
    schema = [SchemaField.from_api_repr(field.api) for field in fields]
    names = [field.name for field in fields]
    assert dict(zip(names, _row_tuple_from_json(written, schema), strict=True)) == given_


def test_timestamps_have_three_forms():
    field = Field("x", "TIMESTAMP")
    table = pa.table({"x": [dt.datetime(2024, 1, 3, tzinfo=dt.UTC)]}, schema=arrow_schema([field]))
    forms = {
        form: rest_rows([field], table, form)[0]["f"][0]["v"]
        for form in ("FLOAT64", "INT64", "ISO8601_STRING")
    }
    assert forms == {
        "FLOAT64": "1.70424E9",
        "INT64": "1704240000000000",
        "ISO8601_STRING": "2024-01-03T00:00:00Z",
    }
