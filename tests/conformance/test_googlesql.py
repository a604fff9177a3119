"""How compliance cases are read, compared and judged: made ones, in place of Google's thousands."""

import datetime as dt
import math

import pytest
from google.cloud import bigquery

from tests.conformance import googlesql
from tests.conformance.googlesql_cases import Bare, Unordered, read, same, value

FILE = """
# Tables.
[default required_features=NUMERIC_TYPE]
[prepare_database]
CREATE TABLE T AS SELECT 1 AS x, CAST(2 AS uint32) AS y
--
ARRAY<STRUCT<x INT64, y UINT32>>[{1, 2}]
==
[name=right]
SELECT x, y, 'a\\tb' AS t, [1.5] AS f, NULL AS n, DATE '2024-01-02' AS d FROM T
--
ARRAY<STRUCT<x INT64, y INT64, t STRING, f ARRAY<>, n INT64, d DATE>>[
  {1, 2, "a\\tb", ARRAY<DOUBLE>[1.5], NULL, 2024-01-02}
]

NOTE: Reference implementation reports non-determinism.
==
[name=other]
SELECT x FROM T
--
ARRAY<STRUCT<INT64>>[{2}]
==
[name=lenient]
SELECT 1
--
ERROR: generic::out_of_range: nothing
==
[name=fails]
SELECT 1 / 0
--
ERROR: generic::out_of_range: division by zero: 1 / 0
==
[name=unknown]
[required_features=NO,PIVOT]
SELECT * FROM T PIVOT(SUM(x) FOR y IN (2))
--
ARRAY<STRUCT<INT64>>[{1}]
==
[name=absent]
SELECT ARRAY_IS_DISTINCT([1])
--
ARRAY<STRUCT<BOOL>>[{true}]
==
[name=typed]
SELECT CAST(1 AS uint64)
--
ARRAY<STRUCT<UINT64>>[{1}]
==
[name=asked]
[parameters=1 as p]
SELECT @p
--
ARRAY<STRUCT<INT64>>[{1}]
==
[name=changes]
DELETE FROM T WHERE TRUE
--
STRUCT<num_rows_modified INT64>{1}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "made.test"
    path.write_text(FILE)
    return path


def test_cases_have_the_options_of_the_file_and_their_own(file):
    first, right, *_, pivot, _, _, asked, _ = read(file)
    assert (first.name, first.prepares) == ("", True)
    assert first.statement.startswith("CREATE TABLE T")
    assert (right.name, right.needs) == ("right", {"NUMERIC_TYPE"})
    assert pivot.needs == {"NO", "PIVOT"}
    assert asked.parameters


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ARRAY<STRUCT<INT64>>[{1}, {NULL}]", [(Bare("1"),), (None,)]),
        ("ARRAY<INT64>[unknown order:1, 2]", Unordered([Bare("1"), Bare("2")])),
        ("ARRAY<STRUCT<a INT64, b ARRAY<>>>[]", []),
        ("ARRAY<INT64>(NULL)", None),
        (
            "{true, \"a\\\"b,\\n\", b\"\\xff\\001\", '''x'y'''}",
            (True, 'a"b,\n', b"\xff\x01", "x'y"),
        ),
        ("2024-01-02 03:04:05+00", Bare("2024-01-02 03:04:05+00")),
    ],
)
def test_a_value_is_read(text, expected):
    assert value(text) == expected


def test_what_is_no_value_is_refused():
    for text in ("[1] and more", "{1 2", "ARRAY<INT64", "]"):
        with pytest.raises(ValueError, match=r"\w"):
            value(text)


def test_values_are_compared_as_the_client_has_them():
    assert same(Unordered([Bare("1"), None]), [None, 1])
    assert not same([Bare("1"), None], [None, 1])
    assert same((Bare("0.1"),), {"x": 0.1 + 1e-12})
    assert not same(Bare("0.1"), 0.1001)
    assert same(Bare("nan"), math.nan)
    assert not same(Bare("1"), True)
    assert not same(Bare("1"), None)
    assert same(None, [])
    assert not same(None, 0)
    assert not same(b"a", "a")
    noon = dt.datetime(2024, 1, 2, 12)
    assert same(Bare("2024-01-02 12:00:00"), noon)
    utc = noon.replace(tzinfo=dt.UTC)
    assert same(Bare("2024-01-02 20:00:00+00"), utc), "noon in Los Angeles"
    assert not same(Bare("2024-01-02 13:00:00+00"), utc)
    assert not same(Bare("2024-01-02 12:00:00"), utc)
    assert same(Bare("2024-01-02"), noon.date())


def test_each_case_is_judged_by_what_bigquery_answers(local_gcp, file, monkeypatch):
    for name, content in local_gcp.client_env.items():
        monkeypatch.setenv(name, content)
    cases = googlesql.outcomes(bigquery.Client(), file)
    found = {case.name: column for case, column, _ in cases}
    assert found == {
        "right": "same",
        "fails": "same",
        "other": "wrong",
        "lenient": "wrong",
        "unknown": "refused by name",
        "absent": "error",
        "typed": "not comparable",
        "asked": "not comparable",
        "changes": "not comparable",
    }


def test_each_group_says_why():
    for group in googlesql.LISTED:
        assert group["why"]
        assert group.keys() & {"features", "words", "cases"}
