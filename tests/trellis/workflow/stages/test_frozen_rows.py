"""Rows, frozen and checked by a real BigQuery: the split of each, and what is found in them."""

import collections

import pytest
from google.cloud.bigquery import QueryJobConfig

from tests.trellis.workflow.plans import plan_run
from trellis.workflow.stages import (
    automl_tables,
    bqml,
    check,
    data_checks,
    job_messages,
    snapshot,
    weight_checks,
)
from trellis.workflow.validation.file import with_changes

TASK = "binary_classification"


@pytest.fixture(scope="module")
def client(google, group):
    """BigQuery, and the group's bucket."""
    from google.cloud import bigquery

    (google.buckets / group.bucket).mkdir(exist_ok=True)
    return bigquery.Client(project=group.project, location=group.location)


@pytest.fixture
def plan(client, breast_cancer, group):
    """Plans a run on the rows of a query, with some keys of the source changed."""

    def plan(run_id, task=TASK, **changes):
        source = {"bigquery": None, "partition": None} | changes
        changed = {("source", k): v for k, v in source.items()}
        if task != TASK:
            changed |= {("task",): task, ("baselines",): None, ("deploy",): None}
        if task == "regression":
            changed |= {("tune", "maximize"): None, ("tune", "minimize"): "rmse"}
        return plan_run(with_changes(breast_cancer, changed), group, run_id)

    return plan


@pytest.fixture
def checked(plan, client, group):
    """Freezes the rows of a query and checks them: the problems, and the warnings."""

    def checked(query, **changes):
        planned = plan("checked", query=query, **changes)
        # Another test may have frozen the rows of the same query.
        client.delete_table(job_messages.snapshot(planned, group), not_found_ok=True)
        for job in (snapshot.job(planned, group), check.job(planned, group)):
            statement = job["query"].pop("query")
            config = QueryJobConfig.from_api_repr(job)
            rows = list(client.query_and_wait(statement, job_config=config))
        return check.judge(rows[0], planned.table, TASK, planned.experiment.source.split)

    return checked


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
        ({"malignant": "n > 0"}, "'malignant' is constant, 'true' in every row"),
        (
            {"malignant": "IF(n < 3, NULL, n > 9)"},
            "'malignant' is NULL or empty in 2 rows, as at the keys",
        ),
        ({"sample_id": "IF(n = 7, '', CAST(n AS STRING))"}, "is NULL or empty in 1 row"),
        ({"malignant": "IF(n < 9, '', IF(n < 99, 'a', 'b'))"}, "'malignant' is NULL or empty in 8"),
        ({"x": "IF(n = 9, 3.5e38, n)"}, "feature 'x' is infinite in 1 row, or too large for"),
        ({"trace": "[IF(n = 9, -3.5e38, 1)]"}, "'trace' is infinite in 1 row"),
        ({"trace": "[CAST('nan' AS FLOAT64)]"}, "'trace' is NULL in every row of the train split"),
        ({"x": "CAST(NULL AS FLOAT64)"}, "feature 'x' is NULL in every row"),
        ({"x": "IF(n = 9, CAST('inf' AS FLOAT64), 1)"}, "feature 'x' is infinite in 1 row"),
        ({"größe in cm": "IF(n = 9, CAST('-inf' AS FLOAT64), 1)"}, "'größe in cm' is infinite"),
        ({"trace": "[IF(n = 9, CAST('inf' AS FLOAT64), 1)]"}, "'trace' is infinite in 1 row"),
    ],
)
def test_rows_that_cannot_be_learned_from_are_found(checked, changes, problem):
    problems, _ = checked(select(**changes))
    assert any(problem in found for found in problems), problems


def test_good_rows_pass_and_nan_is_reported(checked):
    assert checked(select()) == ([], [])
    assert checked(select(x="IF(n < 4, CAST('nan' AS FLOAT64), n)")) == (
        [],
        ["feature 'x' is NaN in 3 rows: counted as NULL"],
    )


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        ("IF(n < 3, NULL, 1.0)", "weight 'w' is NULL in 2 rows, as at the keys '1', '2': give"),
        (
            "CASE n WHEN 3 THEN CAST('nan' AS FLOAT64) WHEN 4 THEN -1 WHEN 5 THEN -2 ELSE 1 END",
            "weight 'w' is NaN in 1 row, negative in 2 rows, as at the keys '3', '4', '5'",
        ),
        ("IF(n = 9, CAST('inf' AS FLOAT64), 1)", "weight 'w' is infinite in 1 row"),
        ("IF(fold = 2, 0, n)", "weight 'w' is 0 in all 100 rows of the test split"),
        ("n * 1000", "weight 'w' is up to 300,000, and AutoML takes at most 10,000: divide it"),
    ],
)
def test_weights_that_are_none_are_found(plan, client, group, weight, problem):
    assert [problem in found for found in weighed(plan, client, group, weight)[1]] == [True]


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
    return planned, weight_checks.judge(rows[0], planned.table, automl=True)


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
    query = planned.experiment.row_source.query
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
    assert check.columns_json(planned, group, 300)["split"] == {
        "rule": "moment: validation from 2024-01-09, test from 2024-01-11"
    }


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


@pytest.fixture
def suspected(plan, client, group):
    """Return the findings of the data checks in the rows of a query: (check, feature), and the
    texts.
    """

    def suspected(query, **changes):
        planned = plan("suspected", query=query, **changes)
        for job in (snapshot.job(planned, group), check.job(planned, group)):
            statement = job["query"].pop("query")
            config = QueryJobConfig.from_api_repr(job)
            rows = list(client.query_and_wait(statement, job_config=config))
        found = data_checks.judge(rows[0], planned.table)
        return [(finding.check, finding.feature) for finding in found], found

    return suspected


PATIENTS = """
SELECT
  CAST(n AS STRING) AS sample_id,
  MOD(FARM_FINGERPRINT(CONCAT('p', CAST(DIV(n, 8) AS STRING))), 2) = 0 AS malignant,
  DIV(n, 8) AS patient,
  SIN(n) AS noise,
  MOD(n, 7) = 0 AS flag
FROM UNNEST(GENERATE_ARRAY(0, 6399)) AS n
"""


def test_visits_of_patients_in_two_splits_are_suspected_until_patients_decide(suspected):
    """800 patients with 8 visits each, and a label that is the patient's."""
    checks, (finding,) = suspected(PATIENTS)
    assert checks == [("group", "patient")]
    assert finding.text.startswith(
        "feature 'patient' has 800 values, each in 8 rows or so, and the value alone predicts the "
        "label of 100.0% of the validation and test rows: do rows of one value belong together? "
        "Then write `split: {by: patient}`"
    )
    assert suspected(PATIENTS, split={"by": "patient"}) == ([], [])


def test_what_else_leaks_is_suspected(suspected):
    checks, _ = suspected(
        """
        SELECT
          CAST(n AS STRING) AS sample_id,
          MOD(n, 2) = 0 AS malignant,
          IF(MOD(n, 2) = 0, 'yes', 'no') AS diagnosis,
          MOD(n, 2) + n / 10000 AS probability,
          CONCAT('text ', CAST(n AS STRING)) AS remark,
          10 * n AS record,
          n = 5 AS rare,
          SIN(n) AS noise,
          MOD(n, 13) AS ward
        FROM UNNEST(GENERATE_ARRAY(1, 2000)) AS n
        """
    )
    assert checks == [
        ("label", "diagnosis"),
        ("label", "probability"),
        ("identifier", "remark"),
        ("identifier", "record"),
        ("constant", "rare"),
    ]


SHUFFLED = "FARM_FINGERPRINT(CAST(n AS STRING))"
NUMBERED = f"""
SELECT
  FORMAT('p%05d', n) AS sample_id, {{label}} AS malignant,
  n AS rownames, CAST(n - 1 AS FLOAT64) AS index, CAST(10 * n AS NUMERIC) AS accession,
  FORMAT('s%05d', n) AS scan, FORMAT('s%d', n) AS sample, -n AS backwards,
  {SHUFFLED} AS hashed, CAST(MOD({SHUFFLED}, 1000000000) AS FLOAT64) AS drawn,
  FORMAT('%x', {SHUFFLED}) AS uuid,
  MOD({SHUFFLED}, 1000000000) + 0.5 AS measured
FROM UNNEST(GENERATE_ARRAY(1, {{rows}})) AS n
"""
IN_ORDER = {"rownames", "index", "accession", "scan", "sample", "backwards"}
AT_RANDOM = {"hashed", "drawn", "uuid"}


@pytest.mark.parametrize(
    ("label", "rows", "task"),
    [
        ("n <= 1000", 2000, "binary_classification"),
        ("DIV(n - 1, 60)", 180, "multiclass_classification"),  # as R's iris: 35 rows are asked
        ("MOD(DIV(n, 100), 2) = 0", 2000, "binary_classification"),  # collected in blocks
        ("n > 1900", 2000, "binary_classification"),  # 5 % of the rows
        ("SQRT(n) + SIN(n)", 2000, "regression"),
    ],
)
def test_an_identifier_whose_order_tells_the_label_is_a_leak(suspected, label, rows, task):
    checks, findings = suspected(NUMBERED.format(label=label, rows=rows), task=task)
    assert {feature for check, feature in checks if check == "label"} == IN_ORDER
    expected = AT_RANDOM if rows > 1000 else set()
    assert {feature for check, feature in checks if check == "identifier"} == expected
    refused, warned = data_checks.divided(findings, "refuse")
    assert (len(refused), warned) == (len(findings), [])


@pytest.mark.parametrize(
    ("label", "rows", "task"),
    [
        (f"MOD({SHUFFLED}, 3) = 0", 2000, "binary_classification"),
        (f"MOD(ABS({SHUFFLED}), 7)", 2000, "multiclass_classification"),
        # The most frequent label is right in nearly all rows, whatever the order.
        (f"MOD({SHUFFLED}, 50) = 0", 300, "binary_classification"),
        (f"MOD({SHUFFLED}, 1000) / 7", 2000, "regression"),
    ],
)
def test_an_identifier_whose_order_tells_nothing_is_only_an_identifier(
    suspected, label, rows, task
):
    checks, _ = suspected(NUMBERED.format(label=label, rows=rows), task=task)
    assert {feature for check, feature in checks if check == "identifier"} == IN_ORDER | AT_RANDOM
    assert {check for check, _ in checks} == {"identifier"}


def test_copies_of_rows_in_two_splits_are_suspected(suspected):
    copies = """
        SELECT CAST(n AS STRING) AS sample_id, MOD(n, 2) = 0 AS malignant,
          SIN(IF(MOD(n, 10) = 0, n - 1, n)) AS x
        FROM UNNEST(GENERATE_ARRAY(1, 2000)) AS n
        """
    checks, (finding,) = suspected(copies)
    assert checks == [("copies", None)]
    assert "rows of validation and test equal a row of train in every feature" in finding.text


def test_a_number_that_follows_the_label_of_a_regression_is_suspected(suspected, monkeypatch):
    query = """
        SELECT CAST(n AS STRING) AS sample_id, SIN(n) AS malignant, 3 * SIN(n) + 1 AS same,
          COS(n) AS other, n AS moment
        FROM UNNEST(GENERATE_ARRAY(1, 2000)) AS n
        """
    rule = {"column": "fold", "names": {"train": [0], "validation": [1], "test": [2]}}
    query = f"SELECT *, IF(moment < 1500, 0, IF(moment < 1700, 1, 2)) AS fold FROM ({query})"
    checks, _ = suspected(query, task="regression", split=rule)
    assert checks == [("label", "same"), ("identifier", "moment"), ("shift", "moment")]


PRICES = """
SELECT
  CAST(n AS STRING) AS sample_id,
  100 * SIN(n) + 10 * COS(7 * n) AS malignant,
  100 * SIN(n) AS lowest,
  ROUND(100 * SIN(n) + 20 * COS(7 * n), 1) AS highest,
  SIN(3 * n) AS noise,
  IF(MOD(n, 5) = 0, NULL, COS(5 * n)) AS sparse,
  1 AS same,
  MOD(n, 2) = 0 AS even,
  IF(MOD(n, 2) = 0, 'a', 'b') AS kind
FROM UNNEST(GENERATE_ARRAY(1, 2000)) AS n
"""


def test_numbers_that_tell_the_label_of_a_regression_together_are_suspected(suspected):
    """The mean of the lowest and the highest price, each of which correlates by less than 0.999."""
    checks, (finding,) = suspected(PRICES, task="regression")
    assert checks == [("label", None)]
    assert finding.text.startswith(
        "features 'lowest', 'highest' predict the label together: a linear sum of them has a "
        "correlation of 1.0000 with it in the train split; are they known before the label?"
    )
    assert data_checks.divided([finding], "refuse") == ([finding.text], [])
    without = PRICES.replace("100 * SIN(n) AS lowest,", "")
    assert suspected(without, task="regression") == ([], [])


def select(**changes):
    columns = ", ".join(f"{sql} AS `{name}`" for name, sql in (GOOD | changes).items())
    return f"SELECT {columns} FROM {ROWS}"
