"""The rows of a prediction against those that its model learned from, by a real query."""

import random

import pytest
from google.cloud import storage

from tests.contracts.datasets import categorical, dataset, numbers, numeric
from tests.trellis.workflow.stages.prediction.conftest import BUCKET, LEARNED
from tests.wording import says
from trellis.results.index import load_index
from trellis.workflow import sql
from trellis.workflow.stages.prediction import changes
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import QUANTILES

EVEN = ["early", "late"] * 100


@pytest.fixture(scope="module")
def client(google):
    from google.cloud import bigquery

    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("changes_tests", exists_ok=True)
    return client


@pytest.fixture(scope="module")
def learned():
    """dataset.json of a train split of 200 rows: x from 0 to 1, two stages."""
    source = random.Random(1)
    taken = numeric("taken at", [1.7e9 + 3600 * n for n in range(200)], kind="timestamp")
    return dataset(
        numeric("x", [source.random() for _ in range(200)]),
        categorical("stage", EVEN),
        taken | {"column": "taken"},
        examples=200,
    )


def rows(x="RAND()", stage="IF(MOD(n, 2) = 0, 'early', 'late')", count=60):
    moment = "TIMESTAMP_ADD(TIMESTAMP '2026-01-01', INTERVAL n HOUR)"
    return (
        f"SELECT n AS sample, {x} AS x, {stage} AS stage, {moment} AS `taken at` "
        f"FROM UNNEST(GENERATE_ARRAY(1, {count})) AS n"
    )


@pytest.fixture
def run(predictions, client, learned, states):
    """Predicts the rows of a query: the states of the tasks, and changes.json."""

    def run(name, query, beyond, **conf):
        made = predictions(name, query=query, changes={"beyond": beyond})
        made.promote("champion", table=LEARNED, learned=learned)
        return states(made.run(**conf)), made.written("changes")

    return run


@pytest.mark.slow
def test_rows_like_those_that_the_model_learned_from_are_predicted(run):
    reached, found = run("alike", rows("n / 60"), "refuse")
    assert set(reached.values()) == {"success"}
    assert (found["remark"], found["findings"]) == (None, [])
    assert found["previous"].endswith("/alike/datasets/3f2a/")


def index():
    """The newest record of each experiment's predictions."""
    found = load_index(storage.Client(project="local-gcp"), BUCKET)
    assert found.unreadable == ()
    return {one.experiment: one for one in reversed(found.predictions)}


def test_a_shifted_column_stops_the_job_before_it_is_paid(run, capfd):
    reached, found = run("shifted", rows("n / 60 + 2"), "refuse")
    assert (reached["changes"], reached["predict"]) == ("failed", "upstream_failed")
    assert {finding["check"] for finding in found["findings"]} == {"mean", "numbers"}
    said = capfd.readouterr().out
    assert "feature 'x' has a mean" in said
    assert "The prediction was not paid for." in said
    assert index()["shifted"].predicted is None
    reached, _ = run("shifted", rows("n / 60 + 2"), "refuse", accept_changes=True)
    assert reached["result"] == "success"
    newest = index()["shifted"]
    assert newest.predicted == 60
    assert newest.warnings[0].startswith("feature 'x' has a mean")


def test_missing_values_and_new_categories_are_warned_of(run, capfd):
    query = rows("IF(n > 30, NULL, n / 30)", "IF(n > 20, 'secret', 'early')")
    reached, found = run("warned", query, "warn")
    assert set(reached.values()) == {"success"}
    checks = {(finding["check"], finding["feature"]) for finding in found["findings"]}
    assert checks == {("missing", "x"), ("categories", "stage")}
    said = capfd.readouterr().out
    assert says(said, "Warning: feature 'x'", "missing values", "0.0%", "50.0%")
    # The log has no value of a row; the file in the bucket has.
    assert "secret" not in said
    assert any("'secret'" in finding["text"] for finding in found["findings"])


@pytest.mark.slow
def test_a_few_rows_are_not_judged(run):
    reached, found = run("few", rows("n + 100", count=29), "refuse")
    assert set(reached.values()) == {"success"}
    assert found["remark"] == "29 rows are too few, of 30 and more"


@pytest.mark.slow
def test_a_dataset_that_is_gone_is_said(predictions, client, states):
    made = predictions("gone", query=rows(), changes={"beyond": "refuse"})
    made.promote("champion", table=LEARNED)
    assert set(states(made.run()).values()) == {"success"}
    assert "dataset.json was deleted" in made.written("changes")["remark"]


def test_the_statistics_are_those_of_the_export(client):
    """Python computes those of hand-made rows with a feature of each kind."""
    source = random.Random(2)
    values = [round(source.gauss(5, 2), 3) for _ in range(101)]
    client.query_and_wait(
        f"""
        CREATE OR REPLACE TABLE changes_tests.kinds AS
        SELECT
          CAST(n AS STRING) AS key,
          IF(n < 10, NULL, {values}[OFFSET(n)]) AS x,
          n < 25 AS flag,
          IF(n = 0, NULL, IF(n < 80, 'often', CONCAT('rare ', CAST(MOD(n, 3) AS STRING)))) AS term,
          IF(n = 1, NULL, REPEAT('a', MOD(n, 5))) AS note,
          IF(n = 2, NULL, 'moment') AS taken,
          IF(n = 3, [], [1.0, CAST(n AS FLOAT64)]) AS pulse
        FROM UNNEST(GENERATE_ARRAY(0, 100)) AS n
        """
    )
    one = [0.0, 1.0]
    features = DatasetDescription.from_document(
        dataset(
            numeric("x", one),
            numeric("flag", one, kind="boolean"),
            categorical("term", "ab"),
            numeric("note", one, kind="text"),
            numeric("taken", one, kind="timestamp"),
            numeric("pulse", one, kind="sequence"),
        )
    ).features
    places = list(enumerate(features))
    statement = sql.render(
        "predict_statistics",
        rows="SELECT * FROM `local-gcp.changes_tests.kinds`",
        plain=places[:-1],
        sequences=places[-1:],
        cells=10**6,
        quantiles=QUANTILES,
        most_terms=3,
    )
    (row,) = client.query_and_wait(statement)
    x, flag, term, note, taken, pulse = (
        one.statistics for one in changes.described(features, dict(row.items()))
    )
    expected = numbers(values[10:], missing=10)
    assert (x.count, x.missing) == (91, 10)
    assert [x.mean, x.stddev, x.min, x.max] == pytest.approx(
        [expected[name] for name in ("mean", "stddev", "min", "max")]
    )
    assert len(x.quantiles) == QUANTILES
    assert x.quantiles == pytest.approx(expected["quantiles"], abs=0.3)
    assert (flag.count, flag.mean) == (101, pytest.approx(25 / 101))
    assert (term.count, term.missing, term.frequencies, term.other) == (100, 1, (79, 7, 7), 7)
    assert (note.count, note.missing, note.max) == (100, 1, 4)
    assert (taken.count, taken.missing) == (100, 1)
    assert (pulse.count, pulse.min, pulse.max) == (200, 0, 100)
