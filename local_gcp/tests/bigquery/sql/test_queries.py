# ruff: noqa: E501 - a case is a line
"""Clauses of queries: which rows, in which order, under which names."""

import datetime as dt
import math

import pytest

from local_gcp.bigquery.refs import TableRef
from local_gcp.bigquery.schema import Field
from local_gcp.bigquery.sql import Partitioning, Read

TAGS = Field("tags", "STRING", "REPEATED")
PLACE = Field("place", "STRUCT", fields=(Field("x", "INT64"), Field("y", "STRING")))


@pytest.fixture(scope="module")
def data(shared):
    shared.create(
        "people",
        *(Field("id", "INT64"), Field("name", "STRING"), Field("score", "FLOAT64"), TAGS, PLACE),
        rows="""(1, 'ann', 1.5, ['a', 'b'], {'x': 1, 'y': 'p'}),
            (2, 'bob', 'nan'::DOUBLE, ['c'], {'x': 2, 'y': 'q'}),
            (3, 'ann', NULL, [], NULL),
            (4, NULL, '-inf'::DOUBLE, [], NULL)""",
    )
    shared.create(
        "visits",
        *(Field("id", "INT64"), Field("day", "DATE")),
        rows="(1, '2024-01-01'), (1, '2024-01-02'), (9, '2024-01-03')",
    )
    shared.create(
        "loaded",
        Field("x", "INT64"),
        rows="(1, '2024-01-03'), (2, '2024-01-04')",
        partitioning=Partitioning(),
    )
    shared.create("rows", Field("from", "INT64"), rows="(7)")
    shared.view("good", "SELECT id, name FROM `p.d.people` WHERE score > 1")
    return shared


CASES = [
    # After a dot any word is a name.
    ("SELECT * FROM d.rows", [(7,)]),
    ("SELECT r.from FROM `p`.d.rows AS r WHERE r.from = 7", [(7,)]),
    # NULLs first, then NaN, then the numbers.
    ("SELECT id FROM people ORDER BY score", [(3,), (2,), (4,), (1,)]),
    ("SELECT id FROM people ORDER BY score DESC", [(1,), (4,), (2,), (3,)]),
    ("SELECT id FROM people ORDER BY score NULLS LAST LIMIT 1", [(2,)]),
    ("SELECT id FROM people WHERE score > -1e308 OR score < 0 ORDER BY 1", [(1,), (4,)]),
    ("SELECT id FROM people ORDER BY id LIMIT 2 OFFSET 1", [(2,), (3,)]),
    ("SELECT -id AS id FROM people ORDER BY id LIMIT 1", [(-4,)]),
    (
        "SELECT name, COUNT(*) AS n, SUM(id) FROM people GROUP BY name ORDER BY name",
        [(None, 1, 4), ("ann", 2, 4), ("bob", 1, 2)],
    ),
    ("SELECT UPPER(name) AS name, COUNT(*) FROM people GROUP BY name ORDER BY 1 DESC LIMIT 1",
     [("BOB", 1)]),
    ("SELECT name FROM people GROUP BY 1 HAVING COUNT(*) > 1", [("ann",)]),
    ("SELECT COUNT(*) AS n FROM people HAVING n > 100", []),
    ("SELECT MOD(id, 2) + 1, COUNT(*) FROM people GROUP BY MOD(id, 2) ORDER BY 1",
     [(1, 2), (2, 2)]),
    ("SELECT place.y, COUNT(*) FROM people GROUP BY place.y ORDER BY 1 DESC LIMIT 1", [("q", 1)]),
    ("SELECT name, COUNT(*) FROM people GROUP BY ROLLUP(name) ORDER BY 2 DESC LIMIT 1",
     [(None, 4)]),
    ("SELECT DISTINCT name FROM people ORDER BY name DESC", [("bob",), ("ann",), (None,)]),
    ("SELECT COUNT(DISTINCT name), COUNTIF(score IS NULL), COUNT(score) FROM people", [(2, 1, 3)]),
    ("SELECT COUNTIF(score > 1), COUNT(*) FROM people WHERE FALSE", [(0, 0)]),
    ("SELECT STRING_AGG(name, '|' ORDER BY id DESC), ARRAY_AGG(name IGNORE NULLS ORDER BY id LIMIT 2)"
     " FROM people", [("ann|bob|ann", ["ann", "bob"])]),
    ("SELECT APPROX_QUANTILES(id, 3), APPROX_COUNT_DISTINCT(id), LOGICAL_OR(id = 3) FROM people",
     [([1, 2, 3, 4], 4, True)]),
    ("SELECT SUM(id), MAX(id), ARRAY_AGG(id) IS NULL, COUNT(id) FROM people WHERE FALSE",
     [(None, None, True, 0)]),
    ("SELECT p.id, day FROM people AS p JOIN visits USING (id) ORDER BY day",
     [(1, dt.date(2024, 1, 1)), (1, dt.date(2024, 1, 2))]),
    ("SELECT id, name, day FROM people FULL JOIN visits USING (id) WHERE id > 3 ORDER BY id",
     [(4, None, None), (9, None, dt.date(2024, 1, 3))]),
    ("SELECT p.id, v.id FROM people p LEFT JOIN visits v ON p.id = v.id AND v.day > '2024-01-01'"
     " ORDER BY p.id LIMIT 2", "Duplicate column names in the result are not supported. "
     "Found duplicate(s): id"),
    ("SELECT id, tag, o FROM people, UNNEST(tags) AS tag WITH OFFSET AS o ORDER BY id, o",
     [(1, "a", 0), (1, "b", 1), (2, "c", 0)]),
    ("SELECT id, tag FROM people p, p.tags AS tag WHERE tag != 'a' ORDER BY tag",
     [(1, "b"), (2, "c")]),
    ("SELECT id, tag FROM people LEFT JOIN UNNEST(tags) AS tag WHERE id > 1 ORDER BY id",
     [(2, "c"), (3, None), (4, None)]),
    ("SELECT id FROM people p WHERE EXISTS (SELECT 1 FROM p.tags t WHERE t = 'c')", [(2,)]),
    ("SELECT id, (SELECT COUNT(*) FROM visits v WHERE v.id = p.id) AS n FROM people p ORDER BY 1"
     " LIMIT 2", [(1, 2), (2, 0)]),
    ("SELECT id FROM people WHERE id IN (SELECT id FROM visits)", [(1,)]),
    ("SELECT place.* FROM people WHERE id = 1", [(1, "p")]),
    ("SELECT * EXCEPT (tags, place, score) REPLACE (id + 10 AS id) FROM people WHERE id = 1",
     [(11, "ann")]),
    ("SELECT id, ROW_NUMBER() OVER (PARTITION BY name ORDER BY id DESC) AS r FROM people "
     "QUALIFY r = 1 ORDER BY id", [(2, 1), (3, 1), (4, 1)]),
    ("SELECT id, LAG(id, 1, 0) OVER w, SUM(id) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
     "FROM people WINDOW w AS (ORDER BY id) ORDER BY id LIMIT 2", [(1, 0, 1), (2, 1, 3)]),
    ("SELECT id, FIRST_VALUE(name IGNORE NULLS) OVER (ORDER BY id DESC) FROM people ORDER BY id "
     "DESC LIMIT 2", [(4, None), (3, "ann")]),
    ("SELECT name, SUM(COUNT(*)) OVER () FROM people GROUP BY name ORDER BY name LIMIT 1",
     [(None, 4)]),
    ("SELECT PERCENTILE_CONT(id, 0.5) OVER () AS m FROM people LIMIT 1", [(2.5,)]),
    ("SELECT CORR(x, x) FROM UNNEST([1, NULL]) AS x", [(None,)]),
    ("SELECT TO_JSON_STRING(APPROX_TOP_COUNT(x, 2)) FROM UNNEST(['a', NULL, NULL]) AS x",
     [('[{"value":null,"count":2},{"value":"a","count":1}]',)]),
    ("WITH a AS (SELECT id FROM people), b AS (SELECT MAX(id) AS m FROM a) SELECT * FROM b", [(4,)]),
    ("WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 4) "
     "SELECT SUM(i) FROM n", [(10,)]),
    ("SELECT 1 AS x UNION ALL SELECT 2.5 UNION ALL SELECT NULL ORDER BY x DESC",
     [(2.5,), (1.0,), (None,)]),
    ("SELECT id FROM people EXCEPT DISTINCT SELECT id FROM visits ORDER BY id", [(2,), (3,), (4,)]),
    ("(SELECT id FROM people ORDER BY id DESC LIMIT 1) UNION DISTINCT (SELECT 4)", [(4,)]),
    ("SELECT * FROM UNNEST([STRUCT(1 AS a, 'x' AS b), (2, 'y')]) WHERE a > 1", [(2, "y")]),
    ("SELECT * FROM good", [(1, "ann")]),
    ("SELECT * FROM loaded ORDER BY x", [(1,), (2,)]),
    ("SELECT x, _PARTITIONDATE AS d FROM loaded WHERE _PARTITIONTIME = '2024-01-03'",
     [(1, dt.date(2024, 1, 3))]),
    ("SELECT COUNT(*) FROM people TABLESAMPLE SYSTEM (100 PERCENT)", [(4,)]),
    ("SELECT table_name FROM d.INFORMATION_SCHEMA.TABLES WHERE table_type = 'VIEW'", [("good",)]),
    ("SELECT column_name, data_type FROM `p.d.INFORMATION_SCHEMA.COLUMNS` "
     "WHERE table_name = 'people' AND ordinal_position > 3 ORDER BY ordinal_position",
     [("tags", "ARRAY<STRING>"), ("place", "STRUCT<x INT64, y STRING>")]),
    ("SELECT partition_id, total_rows FROM d.INFORMATION_SCHEMA.PARTITIONS "
     "WHERE table_name = 'loaded'", [("20240103", 2)]),
    ("SELECT people FROM people WHERE id = 3",
     [({"id": 3, "name": "ann", "score": None, "tags": [], "place": None},)]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), CASES, ids=[case[0] for case in CASES])
def test_rows(data, query, expected):
    if isinstance(expected, str):
        assert data.error(query).message == expected
    else:
        assert data.rows(query) == expected


def test_the_least_of_values_with_nan_is_nan(data):
    ((least, greatest),) = data.rows("SELECT MIN(score), MAX(score) FROM people")
    assert math.isnan(least)
    assert math.isnan(greatest)


def test_columns_without_a_name_are_numbered(data):
    fields = data.translate("SELECT 1, id, 2, id + 1 AS id2 FROM people").fields
    assert [f.name for f in fields] == ["f0_", "id", "f1_", "id2"]


def test_what_is_read(data):
    read = data.translate(
        "SELECT id FROM good JOIN visits USING (id) WHERE day > '2024-01-01'"
    ).reads
    people, visits = TableRef("p", "d", "people"), TableRef("p", "d", "visits")
    assert [(r.ref, set(r.columns)) for r in read] == [
        (people, {"id", "name", "score"}),
        (visits, {"id", "day"}),
    ]
    assert data.translate("SELECT COUNT(*) FROM people").reads == (Read(people, ()),)


def test_rand_is_drawn_once_for_a_row(data):
    rows = data.rows("SELECT RAND() AS r FROM UNNEST(GENERATE_ARRAY(1, 50)) ORDER BY r")
    assert rows == sorted(rows)


def named(name, kind, **value):
    return {"name": name, "parameterType": kind, "parameterValue": value}


def test_named_parameters(data):
    parameters = [
        named("n", {"type": "INT64"}, value="5"),
        named("names", {"type": "ARRAY", "arrayType": {"type": "STRING"}},
              arrayValues=[{"value": "ann"}, {"value": "o'neil"}]),
        named("day", {"type": "DATE"}, value="2024-01-02"),
        named("at", {"type": "TIMESTAMP"}, value="2024-01-02 03:04:05+02:00"),
        named("pair", {"type": "STRUCT", "structTypes": [{"name": "x", "type": {"type": "FLOAT64"}}]},
              structValues={"x": {"value": "1.5"}}),
        named("nothing", {"type": "STRING"}),
    ]  # fmt: skip
    query = """SELECT @n / 2, 'ann' IN UNNEST(@names), @names[OFFSET(1)], @day + 1, @at, @pair.x,
        @nothing IS NULL"""
    at = dt.datetime(2024, 1, 2, 1, 4, 5, tzinfo=dt.UTC)
    assert data.rows(query, *parameters) == [
        (2.5, True, "o'neil", dt.date(2024, 1, 3), at, 1.5, True)
    ]


def test_a_parameter_of_many_values(data):
    values = [f"it's {number}\n" for number in range(10_000)]
    values[:2] = ["\0" * 2000, "a\0b"]
    keys = named("keys", {"type": "ARRAY", "arrayType": {"type": "STRING"}},
                 arrayValues=[{"value": value} for value in values])  # fmt: skip
    query = "SELECT key FROM UNNEST(@keys) AS key WITH OFFSET AS place ORDER BY place"
    assert data.rows(query, keys) == [(value,) for value in values]


def test_positional_parameters_count_in_the_text(data):
    parameters = [
        {"parameterType": {"type": "INT64"}, "parameterValue": {"value": str(i)}} for i in (1, 2, 3)
    ]
    query = "WITH a AS (SELECT ? AS x) SELECT ?, x FROM a WHERE 3 = ?"
    assert data.rows(query, *parameters) == [(2, 1)]
    assert (
        "Query parameter number 4 is not defined"
        in data.error(query + " OR ? = 1", *parameters).message
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT idd FROM people", "Unrecognized name: idd; Did you mean id? at [1:8]"),
        ("SELECT 1,\n  p.nam FROM people p",
         "Name nam not found inside p; Did you mean name? at [2:5]"),
        ("SELECT id FROM people, visits", "Column name id is ambiguous at [1:8]"),
        ("SELECT id, COUNT(*) FROM people",
         "SELECT list expression references column id which is neither grouped nor aggregated"
         " at [1:8]"),
        ("SELECT id FROM people WHERE COUNT(*) > 1",
         "Aggregate function COUNT not allowed in WHERE clause at [1:29]"),
        ("SELECT SUM(SUM(id)) FROM people",
         "Aggregate function SUM not allowed in aggregate function at [1:12]"),
        ("SELECT LAG(id) OVER (ORDER BY id ROWS 2 PRECEDING) FROM people",
         "Window framing clause is not allowed for analytic function lag at [1:8]"),
        ("SELECT id FROM people LIMIT NULL", "LIMIT expects an integer literal or parameter at [1:29]"),
        ("SELECT PERCENTILE_CONT(x, 0.5) OVER () FROM UNNEST([1, CAST('nan' AS FLOAT64)]) AS x",
         "local_gcp does not emulate PERCENTILE_CONT of NaN"),
        ("SELECT id FROM people WHERE id", "WHERE clause should return type BOOL, but returns INT64 at [1:29]"),
        ("SELECT * FROM nowhere", "Not found: Table p:d.nowhere was not found in location US"),
        ("SELECT * FROM people UNION ALL SELECT 1",
         "Queries in UNION ALL have mismatched column count; query 1 has 5 columns, query 2 has 1 "
         "columns at [1:22]"),
        ("SELECT id FROM people ORDER BY 2",
         "ORDER BY column number item is out of range. Column numbers must be between 1 and 1; "
         "found 2 at [1:32]"),
        ("SELECT @missing", "Query parameter 'missing' not found at [1:8]"),
        ("SELECT * FROM people p, visits p", "Duplicate table alias p in the same FROM clause at [1:25]"),
        ("SELECT 1 FORM t", 'Syntax error: Expected end of input but got identifier "t" at [1:15]'),
        ("SELECT * FROM", "Syntax error: Unexpected end of script at [1:14]"),
        ("SELECT 1 FROM FROM t", "Syntax error: Unexpected keyword FROM at [1:15]"),
        ("SELECT 1\nFROM\n  from t", "Syntax error: Unexpected keyword FROM at [3:3]"),
        ("SELECT (FROM people)", "Syntax error: Unexpected keyword FROM at [1:9]"),
        ("SELECT * FROM rows", "Syntax error: Unexpected keyword ROWS at [1:15]"),
        ("SELECT x FROM t GROUP WHERE a", "Syntax error: Unexpected keyword GROUP at [1:17]"),
        ("SELECT (1", "Syntax error: Unexpected end of script at [1:10]"),
    ],
)  # fmt: skip
def test_errors_in_bigquerys_words(data, query, message):
    found = data.error(query).message
    if message.endswith("[1:22]"):  # a set operation has no place of its own in the tree
        found, message = found.rpartition(" at ")[0], message.rpartition(" at ")[0]
    assert found == message


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("SELECT * FROM people FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP()", "FOR SYSTEM_TIME AS OF"),
        ("SELECT * FROM people PIVOT(SUM(id) FOR name IN ('ann', 'bob'))", "PIVOT"),
        ("SELECT * FROM people UNPIVOT(v FOR n IN (id, score))", "UNPIVOT"),
        ("SELECT * FROM `d.part_*`", "a wildcard table"),
        ("SELECT * FROM EXTERNAL_QUERY('c', 'SELECT 1')", "EXTERNAL_QUERY"),
        ("SELECT * FROM `region-us`.INFORMATION_SCHEMA.TABLES", "region-us"),
        ("SELECT * FROM d.INFORMATION_SCHEMA.JOBS", "INFORMATION_SCHEMA.JOBS"),
        ("SELECT name FROM people GROUP BY CUBE(name)", "CUBE"),
        ("SELECT * FROM people NATURAL JOIN visits", "NATURAL"),
        ("LOAD DATA INTO d.x FROM FILES(format='CSV')", "LOAD DATA"),
        ("CREATE FUNCTION d.f(x INT64) AS (x)", "CREATE FUNCTION"),
    ],
)
def test_not_emulated_by_name(data, query, name):
    error = data.error(query)
    assert error.reason == "notImplemented"
    assert name in error.message


def test_ml_functions_become_calls(data):
    data.ml_columns = (Field("predicted_label", "STRING"), Field("id", "INT64"))
    query = """SELECT p.predicted_label FROM ML.PREDICT(MODEL d.model,
        (SELECT id, name FROM people), STRUCT(0.5 AS threshold)) AS p WHERE id > 1"""
    translated = data.translate(query)
    (call,) = translated.ml_calls
    assert (call.function, str(call.model), call.options) == (
        *("ML.PREDICT", "p:d.model"),
        {"threshold": 0.5},
    )
    assert [f.name for f in call.input_fields] == ["id", "name"]
    rows = data.connection.sql(call.input_sql)
    assert rows.columns == ["id", "name"]
    data.connection.execute(
        f"CREATE TEMP TABLE \"{call.alias}\" AS SELECT 'yes' AS predicted_label, id FROM ({call.input_sql})"
    )
    assert data.connection.execute(translated.sql).fetchall() == [("yes",)] * 3
    unknown = data.error("SELECT * FROM ML.PREDICT(MODEL d.nothing, TABLE d.people)")
    assert unknown.reason == "notFound"
