# ruff: noqa: E501 - a case is a line
"""DML: what rows are afterwards."""

import datetime as dt

import pytest

from local_gcp.bigquery.schema import Field
from local_gcp.bigquery.sql import Partitioning

PLACE = Field("place", "STRUCT", fields=(Field("x", "INT64"), Field("y", "STRING")))


@pytest.fixture
def stock(warehouse):
    warehouse.create(
        "stock",
        *(Field("id", "INT64", "REQUIRED"), Field("name", "STRING")),
        *(
            Field("tags", "STRING", "REPEATED"),
            PLACE,
            Field("amount", "FLOAT64", default="1 + 0.5"),
        ),
        rows="(1, 'nut', ['a'], {'x': 1, 'y': 'p'}, 5), (2, 'bolt', [], NULL, 6)",
    )
    warehouse.create(
        "news",
        *(Field("id", "INT64"), Field("label", "STRING")),
        rows="(1, 'Nut'), (7, 'Nail')",
    )
    return warehouse


@pytest.mark.parametrize(
    ("statement", "query", "rows", "changed"),
    [
        ("INSERT INTO d.stock (id, name) VALUES (3, 'pin'), (4, NULL)",
         "SELECT * FROM stock WHERE id > 2 ORDER BY id",
         [(3, "pin", [], None, 1.5), (4, None, [], None, 1.5)], 2),
        ("INSERT stock VALUES (3, 'x', NULL, STRUCT(1, 'q'), 2)",
         "SELECT tags, place, amount FROM stock WHERE id = 3", [([], {"x": 1, "y": "q"}, 2.0)], 1),
        ("INSERT INTO stock (id, name) SELECT id + 10, label FROM news",
         "SELECT id, amount FROM stock WHERE id > 10 ORDER BY id", [(11, 1.5), (17, 1.5)], 2),
        ("INSERT INTO stock (id, amount) VALUES (20, DEFAULT)",
         "SELECT amount FROM stock WHERE id = 20", [(1.5,)], 1),
        ("UPDATE stock SET name = UPPER(name), place = STRUCT(1, 'z') WHERE id = 1",
         "SELECT name, place FROM stock WHERE id = 1", [("NUT", {"x": 1, "y": "z"})], 1),
        ("DELETE FROM d.stock AS s WHERE s.id IN (SELECT id FROM news)",
         "SELECT id FROM stock", [(2,)], 1),
        ("TRUNCATE TABLE stock", "SELECT id FROM stock", [], 2),
    ],
)  # fmt: skip
def test_rows_after_a_statement(stock, statement, query, rows, changed):
    assert stock.change(statement) == [(changed,)]
    assert stock.rows(query) == rows


def test_insert_into_a_table_by_ingestion_time(warehouse):
    warehouse.create("loaded", Field("x", "INT64"), partitioning=Partitioning())
    warehouse.change("INSERT INTO loaded (_PARTITIONTIME, x) VALUES (TIMESTAMP '2024-01-03', 1)")
    assert warehouse.rows("SELECT x, _PARTITIONDATE FROM loaded") == [(1, dt.date(2024, 1, 3))]


def test_merge(stock):
    query = """MERGE stock AS t USING news AS s ON t.id = s.id
        WHEN MATCHED AND s.label = 'Nut' THEN UPDATE SET name = s.label
        WHEN NOT MATCHED THEN INSERT (id, name) VALUES (id, label)
        WHEN NOT MATCHED BY SOURCE THEN DELETE"""
    assert sorted(stock.change(query)) == [("DELETE",), ("INSERT",), ("UPDATE",)]
    assert stock.rows("SELECT id, name FROM stock ORDER BY id") == [(1, "Nut"), (7, "Nail")]


def test_merge_on_false_replaces_all(warehouse):
    warehouse.create("t", Field("x", "INT64"), rows="(1), (2)")
    warehouse.change(
        """MERGE t USING (SELECT 5 AS x UNION ALL SELECT 6) ON FALSE
        WHEN NOT MATCHED THEN INSERT ROW WHEN NOT MATCHED BY SOURCE THEN DELETE"""
    )
    assert warehouse.rows("SELECT x FROM t ORDER BY x") == [(5,), (6,)]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT stock (id) VALUES ('x')",
         "Value of type STRING cannot be inserted into id, which has type INT64 at [1:27]"),
        ("INSERT stock (idd) VALUES (1)", "Column idd is not present in table p.d.stock at [1:15]"),
        ("INSERT stock (id, name) VALUES (1)",
         "Inserted row has wrong column count; Has 1, expected 2 at [1:33]"),
        ("INSERT stock (id) VALUES (NULL)", "Required field id cannot be null"),
        ("UPDATE stock SET name = 1 WHERE TRUE",
         "Value of type INT64 cannot be assigned to name, which has type STRING at [1:25]"),
        ("UPDATE stock SET name = 'x'", "UPDATE must have a WHERE clause at [1:8]"),
        ("DELETE FROM stock", "DELETE must have a WHERE clause at [1:13]"),
        ("DELETE FROM nothing WHERE TRUE", "Not found: Table p:d.nothing was not found in location US"),
        ("MERGE stock t USING news s ON t.id < s.id + 7 WHEN MATCHED THEN UPDATE SET name = label",
         "UPDATE/MERGE must match at most one source row for each target row"),
    ],
)  # fmt: skip
def test_errors(stock, statement, message):
    assert stock.error(statement).message == message


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("UPDATE stock SET place.y = 'z' WHERE id = 1", "SET of a field of a STRUCT"),
        ("UPDATE stock s SET name = label FROM news n WHERE s.id = n.id", "UPDATE ... FROM"),
    ],
)
def test_not_emulated(stock, statement, name):
    error = stock.error(statement)
    assert (error.reason, name in error.message) == ("notImplemented", True)
