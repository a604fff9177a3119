import datetime as dt
import math
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from google.cloud.bigquery._helpers import _row_tuple_from_json
from google.cloud.bigquery.schema import SchemaField
from hypothesis import given, settings
from hypothesis import strategies as st

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.schema import (
    Field,
    arrow_schema,
    field_from_arrow,
    field_from_duckdb,
    fields_from_api,
    float_text,
    rest_rows,
)

SCALARS = (
    "INT64", "FLOAT64", "NUMERIC", "BOOL", "STRING", "BYTES", "DATE", "TIME", "DATETIME",
    "TIMESTAMP", "JSON",
)  # fmt: skip
_NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
_MODES = st.sampled_from(["NULLABLE", "REQUIRED", "REPEATED"])


def _fields(inner):
    several = st.lists(inner, min_size=1, max_size=3, unique_by=lambda f: f.name.lower())
    return st.builds(
        lambda name, mode, fields: Field(name, "STRUCT", mode, tuple(fields)),
        *(_NAMES, _MODES, several),
    )


FIELDS = st.recursive(
    st.builds(Field, _NAMES, st.sampled_from(SCALARS), _MODES), _fields, max_leaves=5
)


@given(FIELDS)
@settings(max_examples=60, deadline=None)
def test_a_column_survives_rest(field):
    assert Field.from_api(field.api) == field


def _plain(field):
    """Without what DuckDB's types do not say: REQUIRED."""
    mode = field.mode if field.repeated else "NULLABLE"
    return Field(field.name, field.type, mode, tuple(map(_plain, field.fields)))


@given(FIELDS)
@settings(max_examples=60, deadline=None)
def test_a_columns_type_survives_duckdb(field):
    assert field_from_duckdb(field.name, field.duckdb) == _plain(field)


def test_legacy_names_are_answered_and_both_are_taken():
    assert Field("x", "INT64").api["type"] == "INTEGER"
    assert Field.from_api({"name": "x", "type": "float"}) == Field("x", "FLOAT64")
    assert Field.from_api({"name": "x", "type": "BOOL"}).api["type"] == "BOOLEAN"


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        ({"name": "x", "type": "GEOGRAPHY"}, "columns of type GEOGRAPHY"),
        ({"name": "x", "type": "NUMBER"}, "NUMBER is not a valid value"),
        ({"name": "x", "type": "RECORD"}, "is type RECORD but has no schema"),
        ({"type": "STRING"}, "Field name is missing"),
        ({"name": "x", "type": "STRING", "mode": "MANY"}, "unknown mode MANY"),
    ],
)
def test_bad_columns_are_refused(resource, message):
    with pytest.raises(BigQueryError, match=message):
        Field.from_api(resource)
    with pytest.raises(BigQueryError, match="Duplicate field name X"):
        fields_from_api({"fields": [{"name": n, "type": "INT64"} for n in "xX"]})


def test_types_of_files():
    times = [("t", pa.timestamp("ns")), ("z", pa.timestamp("ms", "UTC"))]
    schema = pa.schema(
        [
            pa.field("i", pa.int32(), nullable=False),
            pa.field("d", pa.dictionary(pa.int8(), pa.string())),
            pa.field("l", pa.list_(pa.struct(times))),
        ]
    )  # fmt: skip
    inner = (Field("t", "DATETIME"), Field("z", "TIMESTAMP"))
    assert [field_from_arrow(f) for f in schema] == [
        Field("i", "INT64", "REQUIRED"),
        Field("d", "STRING"),
        Field("l", "STRUCT", "REPEATED", inner),
    ]


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
@settings(max_examples=80, deadline=None)
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


def test_duckdbs_results_have_these_arrow_types():
    fields = [Field(name.lower(), name) for name in SCALARS]
    columns = ", ".join(f'CAST(NULL AS {f.duckdb}) AS "{f.name}"' for f in fields)
    found = duckdb.sql(f"SELECT {columns}").to_arrow_table().schema
    for field in fields:
        if field.type != "TIMESTAMP":  # its zone is the session's
            assert found.field(field.name).type == field.arrow
