"""Queries over the elements of an array: read row by row, and equal to the subquery."""

import pytest

from local_gcp.bigquery.schema import Field

WORDS = Field("words", "STRING", "REPEATED")
NUMBERS = Field("numbers", "INT64", "REPEATED")
PARTS = Field("parts", "STRUCT", "REPEATED", fields=(Field("x", "INT64"), Field("y", "STRING")))


@pytest.fixture(scope="module")
def data(shared):
    shared.create(
        "lists",
        *(Field("id", "INT64"), Field("place", "INT64"), WORDS, NUMBERS, PARTS),
        rows="""(1, 1, ['b', 'a', NULL, 'b', ''], [3, 0, 2], [{'x': 1, 'y': 'p'}, NULL]),
            (2, NULL, [], [], []),
            (3, 0, ['7', 'z'], [0], [{'x': NULL, 'y': ''}]),
            (4, 2, NULL, NULL, NULL)""",
    )
    return shared


SELECTED = [
    "SELECT w FROM UNNEST(words) AS w",
    "SELECT UPPER(w) AS n FROM UNNEST(words) AS w WITH OFFSET AS n WHERE w != 'b' ORDER BY w",
    "SELECT w FROM UNNEST(words) AS w WITH OFFSET AS n WHERE n > place ORDER BY n",
    "SELECT n * 10 + id FROM UNNEST(words) AS w WITH OFFSET n",
    "SELECT 10 / x FROM UNNEST(numbers) AS x WHERE x != 0",
    "SELECT w FROM UNNEST(words) AS w WHERE w > 'a' OR w IS NULL",
    "SELECT SAFE_CAST(w AS INT64) FROM UNNEST(words) AS w",
    "SELECT numbers[SAFE_OFFSET(n)] FROM UNNEST(words) AS w WITH OFFSET AS n",
    "SELECT MOD(FARM_FINGERPRINT(w), 100) FROM UNNEST(words) AS w",
    "SELECT p.y FROM UNNEST(parts) AS p WHERE p.x IS NOT NULL",
    "SELECT y FROM UNNEST(parts)",
    "SELECT TRIM(f) FROM UNNEST(SPLIT(CONCAT(IFNULL(words[SAFE_OFFSET(0)], ''), ', a'), ',')) AS f",
    "SELECT DISTINCT w FROM UNNEST(words) AS w WHERE w != '' ORDER BY w",
    "SELECT n FROM UNNEST(words) AS w WITH OFFSET AS n ORDER BY n DESC",
    "SELECT COUNT(*) FROM UNNEST(words)",
    "SELECT (SELECT MAX(x) FROM UNNEST(numbers) AS x) FROM UNNEST(words) AS w",
    "SELECT ROW_NUMBER() OVER (ORDER BY w) FROM UNNEST(words) AS w",
]


@pytest.mark.parametrize("query", SELECTED)
def test_the_elements_are_those_of_the_subquery(data, query):
    """What has a LIMIT is read as a subquery."""
    asked, plain = (
        f"SELECT id, TO_JSON_STRING(ARRAY({query}{end})) FROM lists ORDER BY id"
        for end in ("", " LIMIT 1000")
    )
    assert data.rows(asked) == data.rows(plain)


@pytest.mark.parametrize("query", SELECTED)
def test_so_is_whether_there_are_any(data, query):
    asked, plain = (
        f"SELECT id FROM lists WHERE EXISTS({query}{end}) ORDER BY id"
        for end in ("", " LIMIT 1000")
    )
    assert data.rows(asked) == data.rows(plain)


def test_a_million_elements_need_the_memory_of_a_few(warehouse):
    """A subquery has all elements in memory together with their rows."""
    warehouse.create("long", Field("id", "INT64"), NUMBERS)
    warehouse.connection.execute(
        'INSERT INTO "d.long" SELECT n, [n, n + 1, n + 2, n + 3, n + 4] FROM range(200_000) r(n)'
    )
    warehouse.connection.execute("SET memory_limit = '48MB'")
    ((kept, found),) = warehouse.rows(
        "SELECT SUM(ARRAY_LENGTH(kept)), COUNTIF(found) FROM (SELECT "
        "ARRAY(SELECT x + id FROM UNNEST(numbers) AS x WITH OFFSET AS n WHERE n > 1 ORDER BY n) "
        "AS kept, "
        "EXISTS(SELECT 1 FROM UNNEST(numbers) AS x WHERE x = 7) AS found FROM long)"
    )
    assert (kept, found) == (600_000, 5)
