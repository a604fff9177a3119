import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.schema import (
    Field,
    field_from_arrow,
    field_from_duckdb,
    fields_from_api,
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
@settings(max_examples=60)
def test_a_column_survives_rest(field):
    assert Field.from_api(field.api) == field


def _plain(field):
    """Without what DuckDB's types do not say: REQUIRED."""
    mode = field.mode if field.repeated else "NULLABLE"
    return Field(field.name, field.type, mode, tuple(map(_plain, field.fields)))


@given(FIELDS)
@settings(max_examples=60)
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


def test_duckdbs_results_have_these_arrow_types():
    fields = [Field(name.lower(), name) for name in SCALARS]
    columns = ", ".join(f'CAST(NULL AS {f.duckdb}) AS "{f.name}"' for f in fields)
    found = duckdb.sql(f"SELECT {columns}").to_arrow_table().schema
    for field in fields:
        if field.type != "TIMESTAMP":  # its zone is the session's
            assert found.field(field.name).type == field.arrow
