"""The run's table, made of the tables that a batch prediction leaves."""

import json

import pytest

from trellis.workflow import sql


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
        values = {"answer": "label", "abstained": False, "conformal": None, **columns}
        statement = sql.render(
            "predict_publish",
            output="local-gcp.publish_tests.out",
            predictions="local-gcp.publish_tests.raw",
            errors="local-gcp.publish_tests.errors",
            description="Predictions",
            labels="",
            encryption_key=None,
            **values,
        )
        client.query_and_wait(statement)
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


def test_a_model_without_them_has_no_further_columns(published):
    found = published({"a": {"label": "ill"}})
    assert found["a"] == {"key": "a", "label": "ill", "error": None}
