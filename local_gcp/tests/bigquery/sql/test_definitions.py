# ruff: noqa: E501 - a case is a line
"""DDL, EXPORT DATA and CREATE MODEL: what the warehouse is told."""

import datetime as dt

import pytest

from local_gcp.bigquery.refs import DatasetRef, ModelRef, TableRef
from local_gcp.bigquery.schema import Field
from local_gcp.bigquery.sql import Partitioning
from local_gcp.bigquery.sql.translated import (
    AddColumn,
    DropColumn,
    RenameColumn,
    RenameTable,
    SetOptions,
)

T = TableRef("p", "d", "t")


def test_create_table(shared):
    translated = shared.translate(
        """CREATE OR REPLACE TABLE d.t (
            a INT64 NOT NULL OPTIONS(description='first'), b STRING DEFAULT 'q',
            c ARRAY<STRUCT<x FLOAT64, y DATE>>, ts TIMESTAMP
        ) PARTITION BY TIMESTAMP_TRUNC(ts, MONTH) CLUSTER BY a, b
        OPTIONS(description='d', labels=[('k', 'v')], expiration_timestamp=TIMESTAMP '2030-01-01')"""
    )
    details = translated.details
    assert (translated.kind, translated.sql, details.ref) == ("CREATE_TABLE", None, T)
    assert details.fields == (
        Field("a", "INT64", "REQUIRED", description="first"),
        Field("b", "STRING", default="'q'"),
        Field("c", "STRUCT", "REPEATED", (Field("x", "FLOAT64"), Field("y", "DATE"))),
        Field("ts", "TIMESTAMP"),
    )
    assert details.partitioning == Partitioning("ts", "MONTH")
    assert details.clustering == ("a", "b")
    assert details.options == {
        "description": "d",
        "labels": [("k", "v")],
        "expiration_timestamp": dt.datetime(2030, 1, 1, tzinfo=dt.UTC),
    }
    assert (details.replace, details.if_not_exists) == (True, False)


@pytest.mark.parametrize(
    ("clause", "partitioning"),
    [
        ("day", Partitioning("day")),
        ("DATE(ts)", Partitioning("ts")),
        ("DATE_TRUNC(day, YEAR)", Partitioning("day", "YEAR")),
        ("TIMESTAMP_TRUNC(ts, HOUR)", Partitioning("ts", "HOUR")),
        ("_PARTITIONDATE", Partitioning()),
        ("DATE(_PARTITIONTIME)", Partitioning()),
    ],
)
def test_partitioning(shared, clause, partitioning):
    details = shared.translate(
        f"CREATE TABLE t (day DATE, ts TIMESTAMP) PARTITION BY {clause}"
    ).details
    assert details.partitioning == partitioning


def test_create_table_as_select_takes_the_list_of_columns(shared):
    translated = shared.translate("CREATE TABLE IF NOT EXISTS t (x FLOAT64) AS SELECT 1")
    assert translated.kind == "CREATE_TABLE_AS_SELECT"
    assert translated.fields == translated.details.fields == (Field("x", "FLOAT64"),)
    assert shared.connection.execute(translated.sql).fetchall() == [(1.0,)]
    assert translated.details.if_not_exists


def test_create_view_keeps_the_text(shared):
    text = "WITH a AS (SELECT 1 AS x) SELECT x AS y FROM a -- all"
    details = shared.translate(f"CREATE VIEW d.v OPTIONS(description='AS') AS {text}").details
    assert (details.query, details.fields) == (text.removesuffix(" -- all"), (Field("y", "INT64"),))
    assert details.options == {"description": "AS"}


def test_create_model_options_are_plain_values(shared):
    translated = shared.translate(
        """CREATE OR REPLACE MODEL d.m OPTIONS(model_type='LOGISTIC_REG', input_label_cols=['y'],
        l2_reg=0.1, max_iterations=20, auto_class_weights=TRUE, early_stop=false,
        class_weights=[STRUCT('a' AS label, 0.5 AS weight)]) AS SELECT 1 AS x, 'a' AS y"""
    )
    details = translated.details
    assert details.ref == translated.target == ModelRef("p", "d", "m")
    assert details.options == {
        "model_type": "LOGISTIC_REG",
        "input_label_cols": ["y"],
        "l2_reg": 0.1,
        "max_iterations": 20,
        "auto_class_weights": True,
        "early_stop": False,
        "class_weights": [{"label": "a", "weight": 0.5}],
    }
    assert details.query == "SELECT 1 AS x, 'a' AS y"
    assert [f.data_type for f in translated.fields] == ["INT64", "STRING"]


def test_export_data(shared):
    translated = shared.translate(
        """EXPORT DATA OPTIONS (uri='gs://b/x-*.parquet', format='PARQUET', overwrite=true,
        field_delimiter=';') AS SELECT 1 AS x ORDER BY x"""
    )
    assert translated.details.options == {
        "uri": "gs://b/x-*.parquet",
        "format": "PARQUET",
        "overwrite": True,
        "field_delimiter": ";",
    }
    assert shared.connection.execute(translated.sql).fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("statement", "kind", "ref", "flags"),
    [
        ("DROP TABLE IF EXISTS t", "DROP_TABLE", T, (True, False)),
        ("DROP VIEW d.t", "DROP_VIEW", T, (False, False)),
        ("DROP SCHEMA IF EXISTS d CASCADE", "DROP_SCHEMA", DatasetRef("p", "d"), (True, True)),
        ("DROP MODEL q.d.m", "DROP_MODEL", ModelRef("q", "d", "m"), (False, False)),
    ],
)
def test_drop(shared, statement, kind, ref, flags):
    translated = shared.translate(statement)
    assert (translated.kind, translated.target) == (kind, ref)
    assert (translated.details.if_exists, translated.details.cascade) == flags


@pytest.mark.parametrize(
    ("clause", "action"),
    [
        ("ADD COLUMN IF NOT EXISTS x STRING", AddColumn(Field("x", "STRING"), True)),
        ("ADD COLUMN y ARRAY<INT64>", AddColumn(Field("y", "INT64", "REPEATED"))),
        ("DROP COLUMN x", DropColumn("x")),
        ("RENAME COLUMN x TO y", RenameColumn("x", "y")),
        ("RENAME TO u", RenameTable(TableRef("p", "d", "u"))),
        ("SET OPTIONS(description=NULL)", SetOptions({"description": None})),
    ],
)
def test_alter_table(shared, clause, action):
    assert shared.translate(f"ALTER TABLE d.t {clause}").details.actions == (action,)


def test_create_schema(shared):
    details = shared.translate("CREATE SCHEMA IF NOT EXISTS q.e OPTIONS(location='EU')").details
    assert (details.ref, details.options) == (DatasetRef("q", "e"), {"location": "EU"})


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE TEMP TABLE x AS SELECT 1 AS a", "TEMPORARY"),
        ("CREATE TABLE x CLONE t", "CLONE"),
        ("CREATE TABLE x LIKE t", "LIKE"),
        ("CREATE MODEL m TRANSFORM(a) OPTIONS(model_type='x') AS SELECT 1 AS a", "TRANSFORM"),
        ("CREATE MATERIALIZED VIEW v AS SELECT 1 AS a", "MATERIALIZED VIEW"),
        ("CREATE TABLE x (a GEOGRAPHY)", "GEOGRAPHY"),
        ("CREATE TABLE x (a INT64) PARTITION BY RANGE_BUCKET(a, GENERATE_ARRAY(0, 9))", "RANGE_BUCKET"),
        ("ALTER TABLE t ALTER COLUMN a SET DATA TYPE STRING", "ALTER COLUMN"),
    ],
)  # fmt: skip
def test_not_emulated_by_name(shared, statement, name):
    error = shared.error(statement)
    assert error.reason == "notImplemented"
    assert name in error.message
