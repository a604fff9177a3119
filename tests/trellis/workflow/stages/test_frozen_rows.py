"""Rows, frozen and checked by a real BigQuery: the split of each, and what is found in them."""

import collections
from unittest.mock import ANY

import pytest
from google.cloud.bigquery import QueryJobConfig

from tests.trellis.workflow.stages.frozen import TASK, client, plan
from tests.wording import says
from trellis.workflow.stages import (
    automl_tables,
    bqml,
    check,
    image_checks,
    job_messages,
    snapshot,
    weight_checks,
)
from trellis_contracts.withheld import shown

__all__ = ["client", "plan"]


@pytest.fixture
def checked(frozen_row):
    """Freezes the rows of a query and checks them: the problems, and the warnings."""

    def checked(query, **changes):
        planned, row = frozen_row(query, **changes)
        found = check.judge(row, planned.table, TASK, planned.experiment.source.split)
        return tuple(list(map(shown, texts)) for texts in found)

    return checked


@pytest.fixture
def row_of_checks(frozen_row):
    """Freezes the rows of a query: the result of the checks' query."""
    return lambda query, **changes: frozen_row(query, **changes)[1]


@pytest.fixture
def frozen_row(plan, client, group):
    """Freezes the rows of a query: the plan, and the result of the checks' query."""

    def frozen_row(query, **changes):
        planned = plan("checked", query=query, **changes)
        # Another test may have frozen the rows of the same query.
        client.delete_table(job_messages.snapshot(planned, group), not_found_ok=True)
        for job in (snapshot.job(planned, group), check.job(planned, group)):
            statement = job["query"].pop("query")
            config = QueryJobConfig.from_api_repr(job)
            rows = list(client.query_and_wait(statement, job_config=config))
        return planned, rows[0]

    return frozen_row


ROWS = "UNNEST(GENERATE_ARRAY(1, 300)) AS n"
GOOD = {"sample_id": "CAST(n AS STRING)", "malignant": "MOD(n, 2) = 0", "x": "CAST(n AS FLOAT64)"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"sample_id": "CAST(MOD(n, 299) AS STRING)"}, "not unique: '1' (2 rows)"),
        (
            {"sample_id": "IF(n = 7, NULL, CAST(n AS STRING))"},
            "'sample_id' is NULL or empty in 1 row",
        ),
        ({"malignant": "n > 0"}, ("'malignant'", "'true'")),
        (
            {"malignant": "IF(n < 3, NULL, n > 9)"},
            ("'malignant'", "NULL"),
        ),
        ({"sample_id": "IF(n = 7, '', CAST(n AS STRING))"}, "is NULL or empty in 1 row"),
        ({"malignant": "IF(n < 9, '', IF(n < 99, 'a', 'b'))"}, "'malignant' is NULL or empty in 8"),
        ({"x": "IF(n = 9, 3.5e38, n)"}, "feature 'x' is infinite in 1 row, or too large for"),
        ({"trace": "[IF(n = 9, -3.5e38, 1)]"}, "'trace' is infinite in 1 row"),
        ({"trace": "[CAST('nan' AS FLOAT64)]"}, ("'trace'", "NULL")),
        ({"x": "CAST(NULL AS FLOAT64)"}, "feature 'x' is NULL in every row"),
        ({"x": "IF(n = 9, CAST('inf' AS FLOAT64), 1)"}, "feature 'x' is infinite in 1 row"),
        ({"größe in cm": "IF(n = 9, CAST('-inf' AS FLOAT64), 1)"}, "'größe in cm' is infinite"),
        ({"trace": "[IF(n = 9, CAST('inf' AS FLOAT64), 1)]"}, "'trace' is infinite in 1 row"),
    ],
)
def test_rows_that_cannot_be_learned_from_are_found(checked, changes, problem):
    problems, _ = checked(select(**changes))
    assert any(says(found, problem) for found in problems), problems


def test_good_rows_pass_and_nan_is_reported(checked):
    assert checked(select()) == ([], [])
    problems, (warning,) = checked(select(x="IF(n < 4, CAST('nan' AS FLOAT64), n)"))
    assert problems == []
    assert says(warning, "'x'", "NaN in 3 rows")


def test_columns_may_be_called_as_the_query_calls_its_own(frozen_row):
    names = ("cell", "cells", "feature", "number", "numbers", "place", "value")
    columns = dict.fromkeys(names, "CAST(n AS FLOAT64)") | {"town": "CAST(MOD(n, 3) AS STRING)"}
    planned, row = frozen_row(select(**columns))
    features = [feature.name for feature in planned.table.of_baselines()]
    assert {*features} >= {*columns}
    found = {features[one["feature"]]: one["distinct_values"] for one in row["features_alone"]}
    assert found == {name: 3 if name == "town" else 300 for name in features}
    assert {one["name"]: one["missing"] for one in row["features"]} == dict.fromkeys(features, 0)


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        ("IF(n < 3, NULL, 1.0)", ("'w'", "NULL", "'1', '2'")),
        (
            "CASE n WHEN 3 THEN CAST('nan' AS FLOAT64) WHEN 4 THEN -1 WHEN 5 THEN -2 ELSE 1 END",
            ("'w'", "NaN", "'3', '4', '5'"),
        ),
        ("IF(n = 9, CAST('inf' AS FLOAT64), 1)", "weight 'w' is infinite in 1 row"),
        ("IF(fold = 2, 0, n)", "weight 'w' is 0 in all 100 rows of the test split"),
        ("n * 1000", ("'w'", "300,000, and AutoML", "10,000")),
    ],
)
def test_weights_that_are_none_are_found(plan, client, group, weight, problem):
    assert [says(found, problem) for found in weighed(plan, client, group, weight)[1]] == [True]


def test_rows_count_what_their_weights_say(plan, client, group):
    """In the snapshot; and with those baselines that know weights."""
    planned, problems = weighed(plan, client, group, "CAST(n AS NUMERIC) / 2")
    assert problems == []
    assert [f.name for f in planned.table.features] == ["x"]
    table = job_messages.snapshot(planned, group)
    rows = client.query_and_wait(f"SELECT key, example_weight FROM {table}")
    assert all(float(key) == 2 * weight for key, weight in rows)
    assert check.columns_json(planned, group, 300)["weight"] == {"name": "w"}
    assert "positive" not in check.columns_json(planned, group, 300)
    trees = bqml.script(planned, group, "boosted_tree_classifier")
    assert "instance_weight_col = 'example_weight'" in trees
    assert "\n  example_weight,\n" in trees
    # BigQuery ML's linear models know no weights; as a column it would be a feature.
    assert "example_weight" not in bqml.script(planned, group, "logistic_reg")
    assert "\n  example_weight,\n" in automl_tables.views(planned, group)["query"]["query"]
    inputs = automl_tables.pipeline(planned, group, "datasets/1")["training_task_inputs"]
    assert inputs["weightColumnName"] == "example_weight"
    assert inputs["transformations"] == [
        {"numeric": {"columnName": "x", "invalidValuesAllowed": True}}
    ]


def weighed(plan, client, group, weight):
    """Freezes rows with these weights and checks them: the plan, and the weights' problems."""
    query = f"SELECT *, {weight} AS w FROM (SELECT {VISITS}, MOD(n, 3) AS fold, n FROM {ROWS})"
    query = f"SELECT * EXCEPT (n) FROM ({query})"
    rule = {"column": "fold", "names": {"train": [0], "validation": [1], "test": [2]}}
    planned = plan("weighed", query=query, split=rule, weight="w")
    for job in (snapshot.job(planned, group), check.job(planned, group)):
        statement = job["query"].pop("query")
        config = QueryJobConfig.from_api_repr(job)
        rows = list(client.query_and_wait(statement, job_config=config))
    return planned, list(map(shown, weight_checks.judge(rows[0], planned.table, automl=True)))


VISITS = "CAST(n AS STRING) AS sample_id, MOD(n, 2) = 0 AS malignant, CAST(n AS FLOAT64) AS x"


@pytest.fixture
def frozen(plan, client, group):
    """Freezes the rows of a query by a rule: the plan, and (key, split, split_by) of each row."""

    def frozen(columns, split):
        query = f"SELECT {VISITS}, {columns} FROM {ROWS}"
        planned = plan("frozen", query=query, split=split)
        job = snapshot.job(planned, group)
        statement = job["query"].pop("query")
        client.query_and_wait(statement, job_config=QueryJobConfig.from_api_repr(job))
        table = job_messages.snapshot(planned, group)
        rows = client.query_and_wait(f"SELECT key, split, split_by FROM {table}")
        return planned, [tuple(row) for row in rows]

    return frozen


def test_rows_of_one_group_are_in_one_split(plan, frozen, client, group):
    """The snapshot holds each row's group, and the split that its hash, not the key's, falls into;
    the baselines learn from no group.
    """
    rule = {"by": "patient id", "train": 60, "test": 30}
    planned, rows = frozen("DIV(n, 3) AS `patient id`", rule)
    assert [f.name for f in planned.table.features] == ["x"]
    query = planned.experiment.source.query
    assert planned.dataset.fingerprint != plan("by-key", query=query).dataset.fingerprint
    hashes = client.query_and_wait(
        "SELECT CAST(n AS STRING), ABS(MOD(FARM_FINGERPRINT(CAST(n AS STRING)), 100)) "
        "FROM UNNEST(GENERATE_ARRAY(0, 100)) AS n"
    )
    buckets = dict(tuple(row) for row in hashes)
    assert {group for _, _, group in rows} == set(buckets)
    for _, split, of in rows:
        bucket = buckets[of]
        assert split == ("train" if bucket < 60 else "validation" if bucket < 70 else "test")
    described = check.columns_json(planned, group, 300)
    assert described["split"] == {
        "train": [0, 60], "validation": [60, 70], "test": [70, 100], "by": "patient id",
    }  # fmt: skip
    assert "split_by" not in bqml.script(planned, group, "logistic_reg")
    assert "split_by" not in automl_tables.views(planned, group)["query"]["query"]


def test_the_past_is_learned_from_and_the_rest_scored(frozen, group):
    """Rows of 300 hours from 2024-01-01 on; each day belongs to the split that starts with it."""
    moment = "TIMESTAMP_ADD(TIMESTAMP '2024-01-01', INTERVAL n HOUR) AS moment"
    rule = {"time": "moment", "validation": "2024-01-09", "test": "2024-01-11"}
    planned, rows = frozen(moment, rule)
    assert [f.name for f in planned.table.features] == ["x"]
    for key, split, _ in rows:
        hours = int(key)
        assert split == ("train" if hours < 192 else "validation" if hours < 240 else "test")
    split = check.columns_json(planned, group, 300)["split"]
    assert says(split["rule"], "moment", "validation from 2024-01-09", "test from 2024-01-11")


def test_a_column_of_ones_own_names_the_splits(frozen):
    rule = {"column": "fold", "names": {"train": [0, 1, 2], "validation": [3], "test": [4]}}
    planned, rows = frozen("MOD(n, 5) AS fold", rule)
    assert [f.name for f in planned.table.features] == ["x"]
    for key, split, _ in rows:
        assert split == ("train", "train", "train", "validation", "test")[int(key) % 5]


def test_each_class_is_divided_by_the_shares(frozen):
    """`site` has 276 rows of a, 20 of b, 3 of c and 1 of d."""
    site = "IF(n <= 276, 'a', IF(n <= 296, 'b', IF(n < 300, 'c', 'd'))) AS site"
    _, rows = frozen(site, {"stratify": "site", "train": 70, "validation": 10, "test": 20})
    found = collections.Counter((site, split) for _, split, site in rows)
    assert found == {
        ("a", "train"): 193, ("a", "validation"): 28, ("a", "test"): 55,
        ("b", "train"): 14, ("b", "validation"): 2, ("b", "test"): 4,
        ("c", "train"): 1, ("c", "validation"): 1, ("c", "test"): 1,
        ("d", "train"): 1,
    }  # fmt: skip
    # Other features of the same rows leave each where it is.
    rule = {"stratify": "site", "train": 70, "validation": 10, "test": 20}
    assert sorted(frozen(f"{site}, -n AS y", rule)[1]) == sorted(rows)


@pytest.mark.parametrize(
    ("columns", "split", "problem"),
    [
        ("IF(n = 7, NULL, n) AS who", {"by": "who"}, "is NULL in 1 row, as at the key '7'"),
        ("IF(n = 7, 'x', 'train') AS who", {"column": "who"}, "is 'x' in 1 row, as at the key '7'"),
        ("'train' AS who", {"column": "who"}, "the test split is empty: no 'who' of the 300 exam"),
        (
            "IF(n < 3, NULL, DATE '2024-01-01') AS who",
            {"time": "who", "validation": "2024-01-09", "test": "2024-01-11"},
            "split.time 'who' is NULL in 2 rows",
        ),
    ],
)
def test_rows_that_belong_to_no_split_are_found(checked, columns, split, problem):
    problems, _ = checked(f"SELECT {VISITS}, {columns} FROM {ROWS}", split=split)
    assert any(problem in found for found in problems), problems


def select(**changes):
    columns = ", ".join(f"{sql} AS `{name}`" for name, sql in (GOOD | changes).items())
    return f"SELECT {columns} FROM {ROWS}"


@pytest.mark.parametrize(
    ("photo", "found"),
    [
        ("FORMAT('gs://lab/photos/%d.png', n)", None),
        ("IF(n = 7, NULL, 'gs://lab/a.png')", "photo of the key '7' is NULL"),
        ("IF(n = 7, '', 'gs://lab/a.png')", "photo of the key '7' is ''"),
        ("IF(n = 7, 'photos/7.png', 'gs://lab/a.png')", "key '7' is 'photos/7.png'"),
        ("IF(n = 7, 'gs://lab/photos/', 'gs://lab/a.png')", "key '7' is 'gs://lab/photos/'"),
    ],
)
def test_rows_without_an_address_of_an_image_are_named(row_of_checks, photo, found):
    image = {"image_columns": {"photo": {"size": 8}}}
    row = row_of_checks(select(photo=photo), **image)
    assert image_checks.of_rows(row, 0.05) == ([], [] if found is None else [ANY])
    problems, _ = image_checks.of_rows(row, 0.0)
    assert problems == [] if found is None else found in problems[0]
    assert found is None or "1 of 300 rows" in problems[0]


def test_images_that_automl_does_not_read_are_refused_by_name(row_of_checks):
    photo = (
        "FORMAT('gs://lab/%d.%s', n, CASE n WHEN 7 THEN 'DCM' WHEN 8 THEN 'tiff' ELSE 'png' END)"
    )
    alone = {"features": ["photo"], "image_columns": {"photo": {"size": 8}}}
    row = row_of_checks(select(photo=photo), baselines={"automl": {"node_hours": 8}}, **alone)
    (problem,) = image_checks.of_automl(row)
    assert says(problem, "2 of 300 images are DICOM or TIFF", "gs://lab/7.DCM", "`baselines")
    # Without AutoML nobody minds.
    assert image_checks.of_automl(row_of_checks(select(photo=photo), baselines={}, **alone)) == []
