"""The run's table, made of the tables that a batch prediction leaves."""

import json

import pytest

from trellis.workflow import sql
from trellis.workflow.stages.prediction.publish import errors_of

OUT = "local-gcp.publish_tests.out"


def publishing(predictions, errors, **values):
    """The statement that makes the table."""
    given = {
        "answer": "label",
        "abstained": False,
        "conformal": None,
        "bqml": None,
        "automl": False,
        "description": "Predictions",
        "labels": "",
        "encryption_key": None,
        **values,
    }
    return sql.render(
        "predict_publish", output=OUT, predictions=predictions, errors=errors, **given
    )


@pytest.fixture(scope="module")
def client(google):
    from google.cloud import bigquery

    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("publish_tests", exists_ok=True)
    client.query_and_wait(
        "CREATE OR REPLACE TABLE publish_tests.errors AS "
        "SELECT 'bad' AS key, 'no image' AS prediction_error"
    )
    return client


@pytest.fixture
def published(client):
    """Publishes answers by key, beside one failed row: the rows by key."""

    def published(answers, **columns):
        pairs = [f"('{key}', '{json.dumps(answer)}')" for key, answer in answers.items()]
        client.query_and_wait("DROP TABLE IF EXISTS publish_tests.out")
        client.query_and_wait(
            "CREATE OR REPLACE TABLE publish_tests.raw (key STRING, prediction STRING)"
        )
        client.query_and_wait(f"INSERT INTO publish_tests.raw VALUES {', '.join(pairs)}")
        raw, errors = "local-gcp.publish_tests.raw", "local-gcp.publish_tests.errors"
        client.query_and_wait(publishing(raw, errors, **columns))
        rows = client.query_and_wait("SELECT * EXCEPT (prediction) FROM publish_tests.out")
        return {row["key"]: dict(row.items()) for row in rows}

    return published


def test_classes_with_sets_and_examples_that_are_handed_back(published):
    answer = {"label": "ill", "abstained": True, "set": ["ill", "healthy"]}
    sure = {"label": "ill", "abstained": False, "set": ["ill"]}
    found = published({"a": answer, "b": sure}, abstained=True, conformal="set")
    assert found["a"] == {
        "key": "a",
        "label": "ill",
        "abstained": True,
        "prediction_set": ["ill", "healthy"],
        "error": None,
    }
    assert (found["b"]["abstained"], found["b"]["prediction_set"]) == (False, ["ill"])
    assert (found["bad"]["abstained"], found["bad"]["error"]) == (None, "no image")
    assert not found["bad"]["prediction_set"]


def test_numbers_with_intervals(published):
    answers = {"a": {"value": 152.1, "interval": [98.4, 205.8]}, "b": {"error": "x: None"}}
    found = published(answers, answer="value", conformal="interval")
    assert (found["a"]["interval_low"], found["a"]["interval_high"]) == (98.4, 205.8)
    assert found["b"] == {
        "key": "b",
        "value": None,
        "interval_low": None,
        "interval_high": None,
        "error": "x: None",
    }


ROWS = """
    SELECT CONCAT('k', n) AS key, MOD(n, 10) AS size, IF(MOD(n, 3) = 0, NULL, 'a') AS kind,
      TIMESTAMP_ADD(TIMESTAMP '2024-01-01', INTERVAL n HOUR) AS taken, [1.0, n] AS trace,
      IF(MOD(n, 10) > 4, 'la"rge', 'small') AS class, 2.0 * MOD(n, 10) AS number
    FROM UNNEST(GENERATE_ARRAY(1, 60)) AS n
"""


@pytest.mark.parametrize("kind", ["label", "value"])
def test_a_model_of_bigquery_ml_answers_a_query_in_the_servers_form(client, kind):
    """It passes over what it did not learn from, and takes NULL as in training."""
    regression = kind == "value"
    client.query_and_wait(
        "CREATE OR REPLACE MODEL publish_tests.learned OPTIONS (model_type = "
        f"'{'linear_reg' if regression else 'logistic_reg'}', data_split_method = 'NO_SPLIT', "
        f"input_label_cols = ['label']) AS SELECT size, kind, taken, "
        f"{'number' if regression else 'class'} AS label FROM ({ROWS})"
    )
    rows = f"SELECT * EXCEPT (class, number) FROM ({ROWS})"
    client.query_and_wait(f"CREATE OR REPLACE TABLE publish_tests.frozen AS {rows}")
    client.query_and_wait("DROP TABLE IF EXISTS publish_tests.out")
    learned = {"bqml": "local-gcp.publish_tests.learned"}
    learned["snapshot"] = "local-gcp.publish_tests.frozen"
    statement = publishing(None, None, answer=kind, **learned)
    client.query_and_wait(statement)
    found = {row["key"]: dict(row.items()) for row in client.list_rows(OUT)}
    assert len(found) == 60
    own = "SELECT * FROM ML.PREDICT(MODEL publish_tests.learned, TABLE publish_tests.frozen)"
    for row in client.query_and_wait(own):
        answered = found[row["key"]]
        assert answered["error"] is None
        answer = json.loads(answered["prediction"])
        if regression:
            assert answer == {"value": pytest.approx(row["predicted_label"])}
            assert answered["value"] == answer["value"]
            continue
        shares = {one["label"]: one["prob"] for one in row["predicted_label_probs"]}
        assert answer["probabilities"] == pytest.approx(shares)
        assert answered["label"] == answer["label"] == max(shares, key=shares.get)


AUTOML = {
    "label": (
        "STRUCT(['la\"rge', 'small'] AS classes, [0.25, 0.75] AS scores)",
        {"label": "small", "probabilities": {'la"rge': 0.25, "small": 0.75}},
    ),
    "value": ("STRUCT(3.5 AS value, 1.0 AS lower_bound, 9.0 AS upper_bound)", {"value": 3.5}),
}


@pytest.mark.parametrize("kind", AUTOML)
def test_automls_tables_are_read_in_the_servers_form(client, kind):
    """A row that it refused is in a table of errors of its own form."""
    answer, expected = AUTOML[kind]
    made = "CREATE OR REPLACE TABLE publish_tests"
    client.query_and_wait(f"{made}.predictions_1 AS SELECT 'a' AS key, {answer} AS predicted_label")
    error = "STRUCT(3 AS code, 'no size' AS message) AS errors_label"
    client.query_and_wait(f"{made}.errors_1 AS SELECT 'bad' AS key, 7 AS size, {error}")
    client.query_and_wait("DROP TABLE IF EXISTS publish_tests.out")
    predicted = "local-gcp.publish_tests.predictions_1"
    errors = errors_of(predicted, "automl")
    client.query_and_wait(publishing(predicted, errors, answer=kind, automl=True))
    found = {row["key"]: row for row in client.list_rows(OUT)}
    assert json.loads(found["a"]["prediction"]) == expected
    assert found["a"][kind] == expected[kind]
    assert (found["bad"][kind], found["bad"]["error"]) == (None, "no size")


def test_a_model_without_them_has_no_further_columns(published):
    found = published({"a": {"label": "ill"}})
    assert found["a"] == {"key": "a", "label": "ill", "error": None}
