"""Leaks between features and label, and between splits, found by a real BigQuery."""

import pytest
from google.cloud.bigquery import QueryJobConfig

from tests.trellis.workflow.stages.frozen import client, plan
from tests.wording import says
from trellis.workflow.stages import (
    check,
    data_checks,
    snapshot,
)

__all__ = ["client", "plan"]


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
    assert says(finding.text, "validation and test", "train", "every feature")


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
    assert says(finding.text, "'lowest', 'highest'", "correlation of 1.0000", "train split")
    assert data_checks.divided([finding], "refuse") == ([finding.text], [])
    without = PRICES.replace("100 * SIN(n) AS lowest,", "")
    assert suspected(without, task="regression") == ([], [])
