"""Datasets that a script names, found before it is translated."""

import pytest

from local_gcp.bigquery.sql import datasets_named, schema_location


def first(script):
    """The datasets that the first name of the script may mean."""
    return next(iter(datasets_named(script)), None)


@pytest.mark.parametrize(
    "script",
    [
        "SELECT * FROM d.t",
        "SELECT d.x FROM `d.t` AS d",
        "SELECT 'FROM a.b' /* FROM a.b */ -- FROM a.b\nFROM `p-1`.d.t",
        "select x from p-1.d.t",
        "INSERT d.t (x) VALUES (1)",
        "INSERT INTO `p.d.t` SELECT 1",
        "UPDATE d . t SET x = 1 WHERE TRUE",
        "DELETE FROM d.t WHERE TRUE",
        "MERGE INTO d.t USING e.t ON FALSE WHEN NOT MATCHED THEN INSERT ROW",
        "CREATE TABLE IF NOT EXISTS d.t (x INT64)",
        "DROP TABLE IF EXISTS d.t",
        "ALTER TABLE d.t RENAME TO u",
        "SELECT * FROM ML.EVALUATE(MODEL d.t)",
        "EXPORT DATA OPTIONS(uri='gs://b/*') AS SELECT * FROM d.t",
        "DECLARE x INT64 DEFAULT (SELECT MAX(y) FROM d.t); SELECT x",
    ],
)
def test_the_first_table(script):
    named = [pair for pair in datasets_named(script) if pair[0] not in ("ML", "p-1", "p")]
    assert named[0] == ("d", "t")


def test_parts_of_a_name_are_tried_from_its_end():
    assert list(datasets_named("SELECT * FROM d.INFORMATION_SCHEMA.TABLES")) == [
        ("INFORMATION_SCHEMA", "TABLES"),
        ("d", "INFORMATION_SCHEMA"),
    ]
    assert first("DROP SCHEMA d") == ("d", "")
    assert list(datasets_named("CREATE SCHEMA IF NOT EXISTS p.d")) == [("p", "d"), ("d", "")]
    assert first("SELECT * FROM t") is None
    assert first("SELECT 'unclosed FROM d.t") is None


@pytest.mark.parametrize(
    ("script", "location"),
    [
        ("CREATE SCHEMA d OPTIONS(description='x', location='EU')", "EU"),
        ('create schema if not exists d options (location = "us-east1")', "us-east1"),
        ("CREATE SCHEMA d", None),
        ("SELECT location = 'EU' FROM d.t", None),
    ],
)
def test_the_location_of_a_new_schema(script, location):
    assert schema_location(script) == location
