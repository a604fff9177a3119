"""Earlier predictions, scored by the trainer's program when their labels have arrived."""

import json

import pytest
from airflow.sdk.exceptions import AirflowFailException
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import bigquery, storage

from tests.contracts.datasets import IMAGE, categorical, dataset, numeric
from tests.trellis.workflow.stages.prediction.conftest import BUCKET, LEARNED
from tests.wording import says
from trellis.results.index import load_index
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.prediction_layout import Prediction
from trellis.workflow.contracts.prediction_record import PredictionRecord
from trellis.workflow.contracts.table import Column, Feature, Table
from trellis.workflow.lookups import own_dataset
from trellis.workflow.lookups.storage import blob
from trellis.workflow.pricing import cost, queries
from trellis.workflow.stages.prediction import truth
from trellis.workflow.validation.file import with_changes

ROWS = (
    "SELECT n AS sample, CAST(MOD(n, 2) AS FLOAT64) AS x, 'early' AS stage, "
    "CURRENT_TIMESTAMP() AS `taken at` FROM UNNEST(GENERATE_ARRAY(1, 60)) AS n"
)
"""Every other row is predicted as true."""

TRUTH = "SELECT sample_id, malignant FROM truth_tests.followup; -- by now"


@pytest.fixture(scope="module")
def client(google):
    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("truth_tests", exists_ok=True)
    client.query_and_wait(
        "CREATE OR REPLACE TABLE truth_tests.followup AS SELECT n AS sample_id, "
        "IF(n > 40, NULL, MOD(n, 2) = 1) AS malignant FROM UNNEST(GENERATE_ARRAY(1, 80)) AS n"
    )
    return client


@pytest.fixture
def made(client, predictions):
    made = predictions("later", query=ROWS, truth=TRUTH)
    learned = dataset(
        numeric("x", [0.0, 1.0] * 50),
        categorical("stage", ["early"] * 100),
        numeric("taken at", [1.0, 2.0] * 50, kind="timestamp") | {"column": "taken"},
        classes={"false": 50, "true": 50},
    )
    made.promote("champion", table=LEARNED, learned=learned, answered={"false": 50, "true": 50})
    return made


# Three whole predictions, and the trainer's program as a job, which imports its libraries.
@pytest.mark.slow
def test_predictions_are_scored_as_their_labels_arrive(made, client, states, capfd):
    first = states(made.run())
    assert (first["result"], first["truth"], first["performance"]) == (
        "success",
        "skipped",
        "skipped",
    )
    least = cost.scan(0, made.platform.region)
    assert made.written("plan")["cost"]["stages"]["truth"] == pytest.approx(2 * least, abs=1e-4)
    second = states(made.run())
    assert {second[name] for name in ("truth", "score", "performance")} == {"success"}
    assert "40 labels" in capfd.readouterr().out
    found = load_index(storage.Client(project="local-gcp"), BUCKET).predictions
    (scored,) = (one for one in found if one.experiment == "later" and one.performance)
    later = scored.performance
    assert (later.examples, later.groups) == (40, None)
    assert later.score.name == made.experiment.metric
    assert (later.score.value, later.score.high) == (1.0, 1.0)
    # Further labels, which are all wrong.
    client.query_and_wait(
        "UPDATE truth_tests.followup SET malignant = MOD(sample_id, 2) = 0 WHERE malignant IS NULL"
    )
    third = states(made.run())
    assert third["performance"] == "success"
    found = load_index(storage.Client(project="local-gcp"), BUCKET).predictions
    both = [one.performance for one in found if one.experiment == "later" and one.performance]
    assert [one.examples for one in both] == [60, 60]
    assert both[0].score.value < 1.0


IMAGES = "SELECT CONCAT('gs://', address) AS image, label FROM truth_tests.seen"


# A whole prediction, and the trainer's program as a job.
@pytest.mark.slow
def test_images_are_scored_by_their_addresses(google, client, predictions, states, capfd):
    for n in range(40):
        image = google.buckets / BUCKET / f"seen/{'true' if n % 2 else 'false'}/{n}.png"
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes(b"bad" if n == 39 else b"1")
    client.query_and_wait(
        "CREATE OR REPLACE TABLE truth_tests.seen AS SELECT "
        f"CONCAT('{BUCKET}/seen/', IF(MOD(n, 2) = 1, 'true', 'false'), '/', n, '.png') AS address, "
        "IF(MOD(n, 2) = 1, 'true', IF(n < 10, 'true', 'false')) AS label "
        "FROM UNNEST(GENERATE_ARRAY(0, 60)) AS n"
    )
    made = predictions("seen", images="seen", truth=IMAGES)
    learned = dataset(IMAGE, classes={"false": 50, "true": 50})
    made.promote("champion", learned=learned, answered={"false": 50, "true": 50})
    first = states(made.run())
    assert (first["publish"], first["result"], first["truth"]) == ("success", "success", "skipped")
    second = states(made.run())
    assert {second[name] for name in ("truth", "score", "performance")} == {"success"}
    found = load_index(storage.Client(project="local-gcp"), BUCKET).predictions
    (scored,) = (one for one in found if one.experiment == "seen" and one.performance)
    assert scored.performance.examples == 40
    # Five of the even ones are not what the folder says.
    assert scored.performance.score.name == "accuracy"
    assert scored.performance.score.value == 35 / 40
    assert scored.performance.score.low < 35 / 40 < scored.performance.score.high


def test_answers_of_automl_are_joined_as_ours(google, client, predictions):
    """Lines of AutoML's files have names and confidences, ours probabilities."""
    made = predictions("seen-by-automl", images="seen", truth=IMAGES)
    own_dataset.create(made.platform, client)
    run = Prediction(made.experiment, made.platform, "one")
    lines = [
        {
            "instance": {"content": f"gs://{BUCKET}/seen/true/{n}.png", "mimeType": "image/png"},
            "prediction": {
                "ids": ["7", "8"],
                "displayNames": ["true", 'fal"se'],
                "confidences": [0.875, 1.25e-1],
            },
        }
        for n in (1, 3)
    ]
    refused = {"instance": {"image": "gs://b/1.png"}, "prediction": {"error": "no image"}}
    rows = [{"line": json.dumps(line)} for line in (*lines, refused)]
    schema = [bigquery.SchemaField("line", "STRING")]
    config = bigquery.LoadJobConfig(schema=schema, write_disposition="WRITE_TRUNCATE")
    client.load_table_from_json(rows, run.own_output_table, job_config=config).result()
    seen = f"gs://{BUCKET}/seen/true/1.png"
    text = f"SELECT image, 'true' AS label FROM UNNEST(['gs://b/1.png', '{seen}']) AS image"
    asked = with_changes(made.experiment, {("predict", "truth"): text})
    record = a_record(made, run)
    (row,) = client.query_and_wait(truth._statement(asked, [record], {}))
    assert row["key"] == seen
    assert json.loads(row["prediction"]) == {"probabilities": {"true": 0.875, 'fal"se': 0.125}}


OF_TIMES = {
    ("task",): "time_to_event",
    ("source", "label"): {"time": "days", "event": "died", "horizons": [365]},
    ("baselines",): None,
    ("deploy",): None,
    ("tune", "maximize"): "concordance",
}

LATER = """
    SELECT n AS sample_id, MOD(n, 4) > 0 AS died,
      1000 - 20 * n + IF(MOD(n, 7) = 0, 310, 0) AS days
    FROM UNNEST(GENERATE_ARRAY(1, 40)) AS n
"""
"""The higher the hazard, the sooner, but for every seventh; a quarter is censored."""

EVENT = {
    "column": "died",
    "events": {},
    "censored": {},
    "quantiles": [50.0 * n for n in range(1, 22)],
    "horizons": [365.0],
    "times": [200.0, 365.0, 600.0],
}


# A whole prediction, and the trainer's program as a job.
@pytest.mark.slow
def test_survivals_are_scored_by_time_and_event(client, predictions, states):
    rows = "SELECT n AS sample, n / 20 AS hazard FROM UNNEST(GENERATE_ARRAY(1, 40)) AS n"
    made = predictions("survivors", query=rows, truth=LATER)
    name = {"update": {"name": "survivors"}}
    made.experiment = with_changes(made.experiment, OF_TIMES).model_copy(**name)
    hazard = Feature("hazard", "hazard", "FLOAT64", "numeric")
    table = Table(Column("sample", "INT64"), Column("days", "FLOAT64"), None, [hazard], True)
    learned = dataset(numeric("hazard", [0.0, 1.0] * 50), label=[1.0, 2.0])
    learned["task"] = "time_to_event"
    learned["label"] |= {"event": EVENT}
    made.promote("champion", table=table, learned=learned, answered={"false": 50, "true": 50})
    assert states(made.run())["result"] == "success"
    second = states(made.run())
    assert {second[name] for name in ("truth", "score", "performance")} == {"success"}
    found = load_index(storage.Client(project="local-gcp"), BUCKET).predictions
    (scored,) = (one for one in found if one.experiment == "survivors" and one.performance)
    assert (scored.performance.examples, scored.performance.score.name) == (40, "concordance")
    known = list(client.query_and_wait(LATER))
    pairs = [
        early.sample_id > late.sample_id
        for early in known
        for late in known
        if early.died and early.days < late.days
    ]
    share = sum(pairs) / len(pairs)
    assert 0.6 < share < 0.95
    assert scored.performance.score.value == pytest.approx(share, abs=1e-6)
    assert made.written("performance")["runs"][scored.folder]["metrics"].keys() == {
        "concordance",
        "uno_concordance",
        "horizon_brier",
        "horizon_auc",
        "horizon_calibration",
    }


def test_the_label_of_a_time_to_an_event_is_two_columns(client, predictions):
    made = predictions("survivals", query=ROWS)
    text = "SELECT n AS sample_id, IF(n = 3, NULL, 9.5 * n) AS days, n = 1 AS died"
    text = f"{text} FROM UNNEST([1, 2, 3]) AS n"
    experiment = with_changes(made.experiment, OF_TIMES | {("predict", "truth"): text})
    truth.check(experiment, client)
    own_dataset.create(made.platform, client)
    run = Prediction(made.experiment, made.platform, "one")
    client.query_and_wait(
        f"CREATE OR REPLACE TABLE `{run.output_table}` AS SELECT CAST(n AS STRING) AS key, "
        """'{"risk": 1.5}' AS prediction FROM UNNEST([1, 2, 3]) AS n"""
    )
    rows = client.query_and_wait(truth._statement(experiment, [a_record(made, run)], {}))
    found = {row["key"]: (row["label"], row["label_event"]) for row in rows}
    assert found == {"1": (9.5, 1), "2": (19.0, 0)}
    without = with_changes(experiment, {("predict", "truth"): text.replace("died", "dead")})
    with pytest.raises(SourceError) as error:
        truth.check(without, client)
    assert says(str(error.value), "lacks columns", "'died'", "'dead'")


def test_what_the_query_lacks_is_said_before_anything_is_read(made, client):
    def refused(text):
        changed = with_changes(made.experiment, {("predict", "truth"): text})
        with pytest.raises(SourceError) as error:
            truth.check(changed, client)
        return str(error.value)

    said = refused("SELECT sample_id FROM truth_tests.nowhere")
    assert says(said, "(predict.truth)", "Not found: Table")
    said = refused("SELECT sample_id, malignant AS malign FROM truth_tests.followup")
    assert says(said, "(predict.truth) lacks columns", "'malignant'", "'malign'")


def a_record(made, run):
    """What a run of predictions leaves in the index."""
    return PredictionRecord(
        experiment=made.experiment.name,
        run_id=run.run_id,
        uri=run.uri,
        at="2026-01-01T00:00:00+00:00",
        version="projects/p/locations/l/models/m@1",
        trained=f"gs://{BUCKET}/earlier/runs/r/",
        predicted=60,
        output=run.own_output_table,
        warnings=(),
    )


@pytest.fixture
def predicted(client, predictions):
    """An experiment with a prediction of 60 rows, of whose labels 40 have arrived."""
    made = predictions("earlier", query=ROWS, truth=TRUTH)
    own_dataset.create(made.platform, client)
    run = Prediction(made.experiment, made.platform, "one")
    client.query_and_wait(
        f"CREATE OR REPLACE TABLE `{run.output_table}` AS SELECT CAST(n AS STRING) AS key, "
        """'{"label": "true"}' AS prediction FROM UNNEST(GENERATE_ARRAY(1, 60)) AS n"""
    )
    a_record(made, run).upload(blob(made.platform, run.indexed))
    return made


def test_both_queries_are_bounded_by_what_a_dry_run_says(predicted, monkeypatch):
    experiment, platform = predicted.experiment, predicted.platform
    with monkeypatch.context() as patched:
        patched.setattr(queries, "LEAST", 1)
        patched.setattr(truth, "_bytes", lambda *_: 1)
        with pytest.raises(GoogleAPICallError, match="bytes billed"):
            truth.join(experiment, platform, "two")
    made = truth.join(experiment, platform, "two")
    # BigQuery bills 10 MB at least for each of the two tables.
    assert made["query"]["maximumBytesBilled"] == str(2 * queries.LEAST)
    monkeypatch.setattr(queries, "LEAST", 0)
    # 60 keys and answers, 80 keys and labels, of a few bytes each.
    assert 60 * (2 + 17) < truth.planned_bytes(experiment, platform) < 10_000


@pytest.fixture
def frozen(client, predicted):
    """An experiment with a prediction, and the rows that its model's run has frozen: 1 to 20, of
    which row 20 alone is of the test split.
    """
    predicted.leave_run(LEARNED)
    table = predicted.platform.own_table("snapshot_3f2a")  # of tests.trellis.workflow.plans
    client.query_and_wait(
        f"CREATE OR REPLACE TABLE `{table}` AS SELECT CAST(n AS STRING) AS key, "
        "CASE WHEN n <= 10 THEN 'train' WHEN n < 20 THEN 'validation' ELSE 'test' END AS split "
        "FROM UNNEST(GENERATE_ARRAY(1, 20)) AS n"
    )
    yield predicted
    client.delete_table(table)


def test_rows_that_the_model_learned_from_do_not_count(frozen, client, capfd, monkeypatch):
    monkeypatch.setattr(truth, "LEAST", 21)
    made = truth.join(frozen.experiment, frozen.platform, "two")
    assert says(capfd.readouterr().out, "one: 19 labels of rows that its model learned from")
    query = made["query"]["query"].partition(" AS\n")[2]
    keys = [int(row["key"]) for row in client.query_and_wait(query)]
    assert sorted(keys) == [*range(20, 41)]
    monkeypatch.setattr(truth, "LEAST", 22)
    assert truth.join(frozen.experiment, frozen.platform, "two") is None


def test_with_folds_the_model_learned_from_all_rows(frozen, capfd):
    file = frozen.folder / "earlier/runs/r/plan.json"
    plan = json.loads(file.read_text())
    plan["configuration"]["train"]["folds"] = 5
    file.write_text(json.dumps(plan))
    assert truth.join(frozen.experiment, frozen.platform, "two") is None
    assert says(capfd.readouterr().out, "one: 20 labels of rows that its model learned from")


def test_where_the_models_rows_are_gone_all_labels_count(predicted, capfd):
    assert truth.join(predicted.experiment, predicted.platform, "two") is not None
    assert says(capfd.readouterr().out, "Of one all labels count", "are gone")


def test_labels_that_cost_more_than_the_budget_are_not_counted(predicted):
    poor = with_changes(predicted.experiment, {("budget",): "0.01 USD"})
    with pytest.raises(AirflowFailException, match=r"may cost .* \(truth 0\.00, score .* budget"):
        truth.join(poor, predicted.platform, "two")
