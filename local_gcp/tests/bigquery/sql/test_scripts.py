# ruff: noqa: E501 - a case is a line
"""Scripts: how they are split, and what their statements see."""

import datetime as dt

import pytest

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.schema import Field
from local_gcp.bigquery.sql import split


def test_statements_know_their_place_and_kind():
    script = """-- all of it;
DECLARE x INT64 DEFAULT 1; SELECT ';' AS s, "a;b", /* ; */ 1;
  IF x = 1 THEN SELECT CASE WHEN x = 1 THEN 2 END; ELSE SELECT 3; END IF;
BEGIN SELECT 1; IF TRUE THEN SELECT 2; END IF; END;
CREATE OR REPLACE TABLE d.t AS SELECT 1 AS a;
CREATE TABLE d.u (a INT64);
SELECT IF(TRUE, 1, 2)"""
    assert [(s.kind, s.line, s.column) for s in split(script)] == [
        ("DECLARE", 2, 1),
        ("SELECT", 2, 28),
        ("IF", 3, 3),
        ("BEGIN", 4, 1),
        ("CREATE_TABLE_AS_SELECT", 5, 1),
        ("CREATE_TABLE", 6, 1),
        ("SELECT", 7, 1),
    ]
    assert split(script)[4].text == "CREATE OR REPLACE TABLE d.t AS SELECT 1 AS a"
    assert split(" -- nothing\n") == ()


CASES = [
    ("DECLARE a, b INT64 DEFAULT 2; SET a = a + 1; SELECT a, b", [[(3, 2)]]),
    ("DECLARE a INT64; DECLARE s STRING; SET (a, s) = (1, 'x'); SELECT a, s", [[(1, "x")]]),
    ("DECLARE a DEFAULT (SELECT MAX(id) FROM t); SELECT id = a FROM t WHERE id = a", [[(True,)]]),
    ("DECLARE d DATE DEFAULT '2024-01-01'; SET d = DATE_ADD(d, INTERVAL 1 DAY); SELECT d",
     [[(dt.date(2024, 1, 2),)]]),
    ("DECLARE x FLOAT64 DEFAULT 1; SELECT x / 2", [[(0.5,)]]),
    ("DECLARE l ARRAY<STRING> DEFAULT ['a']; SELECT 'a' IN UNNEST(l), ARRAY_LENGTH(l)", [[(True, 1)]]),
    ("DECLARE n INT64; IF n > 1 THEN SELECT 'more'; ELSE SELECT 'null is not true'; END IF",
     [[("null is not true",)]]),
    ("DECLARE x INT64 DEFAULT 4; IF x = 2 THEN SELECT 2; ELSEIF x = 4 THEN SELECT 4; END IF",
     [[(4,)]]),
    ("BEGIN DECLARE y INT64 DEFAULT 7; SELECT y; END; SELECT 1", [[(7,)], [(1,)]]),
    ("CREATE TABLE d.made AS SELECT 5 AS a; INSERT d.made VALUES (6); SELECT SUM(a) FROM d.made",
     [[(11,)]]),
    ("ASSERT (SELECT COUNT(*) FROM t) = 2 AS 'two rows'; SELECT 1", [[(1,)]]),
    # A column goes before a variable of the same name.
    ("DECLARE id INT64 DEFAULT 100; SELECT MAX(id) FROM t", [[(2,)]]),
]  # fmt: skip


@pytest.fixture
def table(warehouse):
    warehouse.create("t", Field("id", "INT64"), rows="(1), (2)")
    return warehouse


@pytest.mark.parametrize(("script", "results"), CASES, ids=[case[0] for case in CASES])
def test_results(table, script, results):
    assert table.script(script) == results


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("ASSERT EXISTS(SELECT 1 FROM t WHERE id > 9) AS 'none above nine'",
         "Assertion failed: none above nine"),
        ("ASSERT FALSE", "Assertion failed"),
        ("SELECT 1;\n\nSELECT nothing FROM t", "Unrecognized name: nothing at [3:8]"),
        ("DECLARE x INT64;\nSET x =\n  1 + y", "Unrecognized name: y at [3:7]"),
        ("SET q = 1", "Undeclared variable: q at [1:5]"),
        ("SELECT 1; DECLARE x INT64",
         "Variable declarations are allowed only at the start of a block or script at [1:11]"),
        ("DECLARE x INT64 DEFAULT 'a'",
         "Cannot coerce expression of type STRING to type INT64 at [1:25]"),
        ("BEGIN DECLARE x INT64; END; SELECT x", "Unrecognized name: x at [1:36]"),
    ],
)  # fmt: skip
def test_errors(table, script, message):
    with pytest.raises(BigQueryError) as caught:
        table.script(script)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("EXECUTE IMMEDIATE 'SELECT 1'", "EXECUTE IMMEDIATE"),
        ("FOR r IN (SELECT 1 AS a) DO SELECT r.a; END FOR", "FOR"),
        ("WHILE TRUE DO SELECT 1; END WHILE", "WHILE"),
        ("LOOP SELECT 1; BREAK; END LOOP", "LOOP"),
        ("REPEAT SELECT 1; UNTIL TRUE END REPEAT", "REPEAT"),
        ("SELECT 1; RETURN", "RETURN"),
        ("RAISE USING MESSAGE = 'stop here'", "RAISE"),
        ("BEGIN SELECT 1; EXCEPTION WHEN ERROR THEN SELECT 2; END", "EXCEPTION"),
        ("CALL d.p()", "CALL"),
        ("BEGIN TRANSACTION; SELECT 1; COMMIT TRANSACTION", "BEGIN TRANSACTION"),
    ],
)
def test_not_emulated(table, script, name):
    with pytest.raises(BigQueryError, match=name) as caught:
        table.script(script)
    assert caught.value.reason == "notImplemented"


def test_what_ran_before_an_error_stays(table):
    with pytest.raises(BigQueryError):
        table.script("INSERT t VALUES (3); SELECT 1 / 0")
    assert table.rows("SELECT COUNT(*) FROM t") == [(3,)]
