"""`coverage` of a number through a whole run, with the real trainer: the interval that the
leaderboard measures is the one that endpoint and batch prediction answer with, and its width is
that of the validation split's errors, counted by group.
"""

import numpy as np
import pandas as pd
import pytest

from tests.airflow_side import run_dag
from tests.trellis.workflow import asking
from tests.trellis.workflow.succession import read
from trellis import load_run
from trellis.workflow.assembly import training
from trellis.workflow.spec.platform import Platform
from trellis.workflow.validation.file import load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

BUCKET = "interval-runs"
COVERAGE = 0.8

EXPERIMENT = f"""
owner: trellis
schedule: manual
budget: 5 USD
source:
  bigquery: interval_runs.visits
  key: visit
  label: days
  split: {{by: patient, train: 60, validation: 20, test: 20}}
  shards: 1
model: dense
task: regression
hyperparameters: {{learning_rate: 0.02, units: 16, batch_size: 16}}
coverage: {COVERAGE}
train: {{minimize: rmse, epochs: 15, machines: {{workers: 1}}}}
deploy:
  gate: {{require: {{rmse: 3}}, beat: nothing}}
  canary: [100]
predict: {{bigquery: interval_runs.visits}}
"""

# Patients have one to three visits, of alike errors: rows and groups differ.
ROWS = """
CREATE TABLE interval_runs.visits AS
SELECT CONCAT('v', CAST(n AS STRING)) AS visit, CONCAT('p', CAST(patient AS STRING)) AS patient,
  SIN(n) AS x, COS(3 * n) AS y, 3 * SIN(n) + COS(3 * n) + 2 * SIN(patient * patient) AS days
FROM (
  SELECT n, DIV(n, 6) * 3 + CASE MOD(n, 6) WHEN 0 THEN 0 WHEN 1 THEN 1 WHEN 2 THEN 1 ELSE 2 END
    AS patient
  FROM UNNEST(GENERATE_ARRAY(1, 900)) AS n)
"""


@pytest.fixture(scope="module")
def visits(google):
    """The rows of the table, by key."""
    from google.cloud import bigquery

    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("interval_runs", exists_ok=True)
    client.query_and_wait(ROWS)
    rows = client.query_and_wait("SELECT * FROM interval_runs.visits")
    return pd.DataFrame([dict(row) for row in rows]).set_index("visit")


def test_leaderboard_endpoint_and_batch_have_the_same_intervals(google, group, visits, tmp_path):
    (google.buckets / BUCKET).mkdir()
    file = tmp_path / "interval-run.yaml"
    file.write_text(EXPERIMENT)
    values = group.model_dump(mode="json", exclude_none=True)
    platform = Platform.model_validate(values | {"bucket": BUCKET, "retry_seconds": 1})
    experiment = load(file)
    ended = run_dag(training.build(experiment, platform))
    assert ended.state == "success", {t.task_id: str(t.state) for t in ended.get_task_instances()}
    folder, run = the_run(google)
    margin = read(folder / "training/1/model/postprocessing.json")["conformal"]["margin"]

    predicted = run.predictions("training/1")
    asked = asking.endpoint(folder, run.rows()[["x", "y"]])
    in_bulk = asking.in_bulk(google, experiment, platform)
    assert asked.keys() == set(predicted.index)
    assert in_bulk.keys() == set(visits.index)
    for key, value in predicted.predicted.items():
        ends = [value - margin, value + margin]
        assert asked[key]["value"] == pytest.approx(value, abs=1e-4)
        assert asked[key]["interval"] == pytest.approx(ends, abs=1e-4)
        row = in_bulk[key]
        assert row["value"] == pytest.approx(value, abs=1e-4)
        assert [row["interval_low"], row["interval_high"]] == pytest.approx(ends, abs=1e-4)

    # What the leaderboard says is true of the endpoint's answers, each patient counted once.
    (chosen,) = (one for one in run_board(folder) if one["selected"])
    facts = chosen["training"]["conformal"]
    test = visits.loc[list(asked)]
    low, high = np.array([answer["interval"] for answer in asked.values()]).T
    hits = (low <= test.days) & (test.days <= high)
    by_patient = hits.groupby(test.patient).mean()
    assert facts["reached"]["value"] == pytest.approx(by_patient.mean(), abs=1e-5)
    assert facts["size"] == pytest.approx((high - low).mean(), rel=1e-4)
    assert by_patient.mean() != pytest.approx(hits.mean(), abs=1e-3)

    # And the width comes from the errors of the validation split: the least that K patients of
    # weight 1 / (K + 1) need.
    validation = run.rows("validation")[["x", "y"]]
    values = {key: answer["value"] for key, answer in asking.endpoint(folder, validation).items()}
    truth = visits.loc[list(values)]
    errors = np.abs(truth.days - np.array(list(values.values())))
    patients = truth.patient
    assert facts["groups"] == patients.nunique()
    weights = 1 / (patients.map(patients.value_counts()) * (patients.nunique() + 1))
    assert weights[errors <= margin + 1e-4].sum() >= COVERAGE
    assert weights[errors < margin - 1e-4].sum() < COVERAGE


def the_run(google):
    """The only run: its folder, and as its author reads it."""
    from google.cloud import storage

    (folder,) = (google.buckets / BUCKET / "interval-run/runs").iterdir()
    uri = f"gs://{BUCKET}/interval-run/runs/{folder.name}/"
    return folder, load_run(uri, storage.Client(project="local-gcp"))


def run_board(folder):
    """The contenders of the leaderboard."""
    return read(folder / "leaderboard/leaderboard.json")["contenders"]
