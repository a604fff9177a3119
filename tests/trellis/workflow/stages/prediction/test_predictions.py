"""Whole predictions, by real batch prediction jobs of a small server."""

import dataclasses
import json
import re

import pytest

from tests.airflow_side import clear_and_run
from tests.trellis.workflow.stages.prediction.conftest import BUCKET, LEARNED
from tests.wording import says
from trellis.workflow.contracts.table import Feature
from trellis_contracts.columns import ImageForm

TABLE = "prediction_tests.samples"


@pytest.fixture(scope="module")
def client(google):
    """BigQuery with a table of 90 rows on three days; one has no x, one is bad."""
    from google.cloud import bigquery

    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("prediction_tests", exists_ok=True)
    client.query_and_wait(
        f"""
        CREATE TABLE {TABLE} PARTITION BY day AS
        SELECT
          n AS sample,
          IF(n = 3, CAST('nan' AS FLOAT64), CAST(MOD(n, 2) AS FLOAT64)) AS x,
          IF(n = 4, 'bad', 'early') AS stage,
          TIMESTAMP_ADD(TIMESTAMP '2024-01-01', INTERVAL n HOUR) AS `taken at`,
          'left out' AS comment,
          DATE_ADD(DATE '2024-01-01', INTERVAL DIV(n - 1, 30) DAY) AS day
        FROM UNNEST(GENERATE_ARRAY(1, 90)) AS n
        """
    )
    return client


@pytest.fixture(scope="module")
def rows(client, predictions):
    """Predictions of a day's rows."""
    made = predictions("rows", bigquery=TABLE, partition="day")
    made.promote("champion", table=LEARNED)
    return made


def test_rows_of_a_day(client, rows, states):
    run = rows.run(**{"from": "2024-01-01", "to": "2024-01-02"})
    tasks = ["plan", "snapshot", "changes", "predict", "publish", "result"]
    assert states(run) == dict.fromkeys(tasks, "success")
    record = rows.record
    assert (record["instances"], record["predicted"], record["failed"]) == (30, 29, 1)
    (error,) = record["errors"]
    assert error["instance"] == "4"
    assert "stage: bad" in error["error"]
    assert record["model"].endswith("models/rows@1")
    found = {row["key"]: row for row in client.list_rows(record["output"])}
    assert found["1"]["label"] == "true"
    assert found["2"]["label"] == "false"
    assert found["3"]["label"] == "unknown"  # NaN is as NULL, as in training
    assert json.loads(found["1"]["prediction"])["probabilities"] == {"false": 0.0, "true": 1.0}
    # Another champion meanwhile, and all of it cleared: nothing is done again, by nobody else.
    rows.promote("champion", table=LEARNED)
    assert clear_and_run(rows.dag, run) == dict.fromkeys(tasks, "success")
    assert rows.record == record


def test_a_champion_of_bigquery_ml_is_asked_by_a_query(client, predictions, states, refused):
    """Without a server: no batch prediction job begins. A model that is gone refuses the plan."""
    client.query_and_wait(
        "CREATE MODEL prediction_tests.learned OPTIONS (model_type = 'logistic_reg', "
        "data_split_method = 'NO_SPLIT', input_label_cols = ['label']) AS SELECT "
        f"IF(IS_NAN(x), NULL, x) AS x, stage, `taken at` AS taken, "
        f"IF(x = 1, 'true', 'false') AS label FROM {TABLE}"
    )
    made = predictions("asked", bigquery=TABLE, partition="day")
    made.promote_bqml("local-gcp.prediction_tests.learned", LEARNED)
    day = {"from": "2024-01-01", "to": "2024-01-02"}
    reached = states(made.run(**day))
    tasks = ["plan", "snapshot", "changes", "publish", "result"]
    assert reached == {**dict.fromkeys(tasks, "success"), "predict": "skipped"}
    record = made.record
    assert (record["instances"], record["predicted"], record["failed"]) == (30, 30, 0)
    assert record["model"].endswith("models/asked@1")
    found = {row["key"]: row for row in client.list_rows(record["output"])}
    assert (found["1"]["label"], found["2"]["label"]) == ("true", "false")
    shares = json.loads(found["1"]["prediction"])["probabilities"]
    assert sum(shares.values()) == pytest.approx(1)
    assert client.get_job(record["job"]).statement_type == "CREATE_TABLE_AS_SELECT"
    client.delete_model("prediction_tests.learned")
    said = refused(made, **day)
    assert says(said, "prediction_tests.learned", "deleted")


@pytest.mark.slow
def test_a_column_of_images_reaches_the_server_as_addresses(predictions, client, states):
    address = "IF(sample = 5, NULL, CONCAT('gs://lab/', sample, '.png'))"
    query = f"SELECT *, {address} AS photo FROM {TABLE} WHERE sample BETWEEN 5 AND 25"
    made = predictions("pictured", query=query)
    form = ImageForm((8, 8), 3, "png", "stretch")
    photo = Feature("photo", "photo", "STRING", "image", form)
    learned = dataclasses.replace(LEARNED, features=[*LEARNED.features, photo])
    made.promote("champion", table=learned)
    assert states(made.run())["result"] == "success"
    record = made.record
    assert (record["instances"], record["predicted"], record["failed"]) == (21, 20, 1)
    (error,) = record["errors"]
    assert (error["instance"], error["error"]) == ("5", "photo: None")


def test_a_day_without_rows_is_no_failure(rows, states, capfd):
    run = rows.run(**{"from": "2025-01-01", "to": "2025-01-02"})
    assert run.state == "success"
    assert set(states(run).values()) == {"skipped"}
    assert "Nothing to predict" in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("worse", ["sample = 7", "TRUE"])
def test_a_request_that_fails_is_in_the_run_s_table_too(predictions, client, states, worse):
    """Vertex AI's form: a table ..._errors with a text; if all failed, the job has succeeded."""
    query = f"SELECT * REPLACE (IF({worse}, 'worse', 'early') AS stage) FROM {TABLE}"
    made = predictions("worse", query=query, output="prediction_tests.worse", max_failed=0.5)
    made.promote("champion", table=LEARNED)
    run = made.run()
    record, reached = made.record, states(run)
    assert reached["publish"] == "success"
    assert record["instances"] == record["predicted"] + record["failed"] == 90
    # A request has 64 rows: all of those of the one with the bad row have failed.
    assert record["failed"] in ((90,) if worse == "TRUE" else (64, 26))
    assert reached["result"] == ("failed" if record["failed"] > 45 else "success")
    errors = [r["error"] for r in client.list_rows(record["output"]) if r["error"]]
    assert len(errors) == record["failed"]
    assert all("Non-OK result 400" in text and "stage: worse" in text for text in errors)


@pytest.mark.slow
def test_too_many_failures_are_a_failure(predictions, client, states, capfd):
    query = f"SELECT * REPLACE (IF(sample < 10, 'bad', stage) AS stage) FROM {TABLE}"
    made = predictions("failing", query=query, output="prediction_tests.failing")
    made.promote("champion", table=LEARNED)
    run = made.run()
    assert states(run)["result"] == "failed"
    said = "9 of 90 instances have no prediction; predict.max_failed allows 5.0%. gs://"
    assert said in capfd.readouterr().out
    assert ".failing_manual__" in made.record["output"]


@pytest.fixture
def refused(capfd, states):
    """Return the message of a refused plan."""

    def run(made, **conf):
        assert states(made.run(**conf))["plan"] == "failed"
        out = capfd.readouterr().out
        assert "Refused, nothing was spent." in out
        return out

    return run


def test_without_a_champion_nothing_begins(predictions, client, refused):
    made = predictions("no-champion", bigquery=TABLE)
    assert says(refused(made), "DAG", "`no-champion`")
    made.promote("challenger", table=LEARNED)
    said = refused(made)
    assert says(said, "No version", "the champion", "1 (challenger): ")
    assert says(refused(made, model="chalenger"), "'chalenger'", "'challenger'")


def test_what_does_not_fit_begins_nothing(predictions, client, refused):
    query = "SELECT 1 AS sample, 'a' AS x, 'b' AS stages, CURRENT_TIMESTAMP() AS `taken at`"
    made = predictions("no-fit", query=query)
    made.promote("champion", table=LEARNED)
    said = refused(made)
    assert says(said, "predict.query", "no-fit@1")
    assert says(said, "'x'", "STRING", "FLOAT64")
    assert says(said, "'stage'", "'stages'")
    assert says(refused(predictions("no-fit", bigquery="a.b")), "local-gcp.a.b", "predict.bigquery")
    dear = predictions("no-fit", bigquery=TABLE, timeout="10 hours", machines={"replicas": 40})
    assert re.search(r"may cost at most \d+\.\d\d USD", refused(dear))
    plan = made.folder / "no-fit/runs/r/plan.json"
    plan.write_text('{"schema": 2, "table": null}')
    assert "Another version of Trellis" in refused(made)
    plan.unlink()
    assert "The plan of the run that made" in refused(made)


@pytest.mark.slow
def test_images_below_a_folder(google, predictions, states):
    folder = google.buckets / BUCKET / "incoming/2024-01-31"
    for name in ("cats/1.png", "cats/2.PNG", "dogs/3.jpg", "dogs/bad.png", "notes.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"1")
    made = predictions("images", images="incoming/{date}", max_failed=0.5)
    made.promote("champion")
    run = made.run(**{"from": "2024-01-31"})
    assert states(run) == dict.fromkeys(["plan", "predict", "result"], "success")
    record = made.record
    assert (record["instances"], record["predicted"], record["failed"]) == (4, 3, 1)
    (error,) = record["errors"]
    assert error["instance"] == f"gs://{BUCKET}/incoming/2024-01-31/dogs/bad.png"
    output = google.buckets / record["output"].removeprefix("gs://")
    lines = "".join(file.read_text() for file in output.glob("prediction.results-*"))
    labels = {
        line["instance"]["image"].rpartition("/")[2]: line["prediction"]["label"]
        for line in map(json.loads, lines.splitlines())
        if "error" not in line["prediction"]
    }
    assert labels == {"1.png": "cats", "2.PNG": "cats", "3.jpg": "dogs"}
    # Another day has none, which is no fault.
    assert set(states(made.run(**{"from": "2024-02-01"})).values()) == {"skipped"}
