"""A cross-validation through the whole path: a real BigQuery and its models, the real trainer."""

import json

import pytest

from tests.airflow_side import run_dag
from tests.trellis.workflow import platforms
from trellis.workflow.assembly import training
from trellis.workflow.validation.file import load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

TABLE, BUCKET, ROWS = "folds_runs.cells", "folds-runs", 180

OWN = """
import pickle
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

INPUTS = ["table"]
HYPERPARAMETERS = {
    "strength": {"default": 1.0, "minimum": 0.01, "maximum": 100, "description": "inverse penalty"},
}

def fit(data, hyperparameters, report):
    model = LogisticRegression(C=hyperparameters.strength)
    return Fitted(make_pipeline(StandardScaler(), model).fit(data.train.numpy(), data.train.labels))

def load(folder):
    return Fitted(pickle.loads((folder / "model.pickle").read_bytes()))

class Fitted:
    def __init__(self, model):
        self.model = model
    def predict(self, batch):
        return self.model.predict_proba(batch.numpy())
    def save(self, folder):
        (folder / "model.pickle").write_bytes(pickle.dumps(self.model))
"""

EXPERIMENT = """
owner: trellis
schedule: manual
budget: 30 USD
source:
  bigquery: folds_runs.cells
  key: sample_id
  label: malignant
  split: {by: patient}
model: mine.py
task: binary_classification
tune:
  maximize: auc
  trials: 2
  parallel: 2
  epochs: 1
  search: {strength: {choose: [0.01, 10]}}
train: {folds: 3, epochs: 1, machines: {workers: 1}}
calibrate: temperature
slices: [side]
baselines: {bqml: [logistic_reg]}
deploy: {gate: {require: {auc: 0.6}, tolerance: null}}
"""


@pytest.fixture
def made(google, group, tmp_path):
    """One run: its folder, and the state of each task."""
    from google.cloud import bigquery

    (google.buckets / BUCKET).mkdir(exist_ok=True)
    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("folds_runs", exists_ok=True)
    client.query_and_wait(
        f"""
        CREATE OR REPLACE TABLE {TABLE} AS
        SELECT
          CONCAT('s', CAST(n AS STRING)) AS sample_id,
          IF(MOD(n, 3) = 0, 'yes', 'no') AS malignant,
          CONCAT('p', CAST(DIV(n, 3) AS STRING)) AS patient,
          IF(MOD(n, 2) = 0, 'left', 'right') AS side,
          SIN(n) + IF(MOD(n, 3) = 0, 1.5, 0) AS radius,
          COS(n) AS texture
        FROM UNNEST(GENERATE_ARRAY(0, {ROWS - 1})) AS n
        """
    )
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "crossed.yaml").write_text(EXPERIMENT)
    own = platforms.of_tests(group, bucket=BUCKET)
    dag = training.build(load(tmp_path / "crossed.yaml"), own)
    run = run_dag(dag)
    states = {
        f"{ti.task_id} {ti.map_index}": str(ti.state)
        for ti in run.get_task_instances()
        if not ti.task_id.startswith("deploy.")
    }
    (folder,) = (google.buckets / BUCKET / "crossed" / "runs").iterdir()
    return folder, states


def read(path):
    return json.loads(path.read_text())


def test_each_fold_is_searched_trained_and_compared_with_baselines_of_its_own(made):
    folder, states = made
    assert set(states.values()) <= {"success", "skipped"}, states
    assert [states[f"tune {n}"] for n in range(4)] == ["success"] * 4
    parts = ["1-1", "1-2", "1-3"]
    board = read(folder / "leaderboard/leaderboard.json")
    assert [one["part"] for one in board["folds"]["choices"]] == parts
    assert board["folds"]["rows"] == ROWS
    assert board["uncertainty"]["groups"] == ROWS // 3
    assert {c["name"]: c["status"] for c in board["contenders"]} == {
        "training/1": "ok",
        "baselines/bqml-logistic_reg": "ok",
    }
    for part in parts:
        assert read(folder / f"folds/{part}/trials.json")["chosen"]
        assert (folder / f"folds/{part}/training/1/predictions.parquet").exists()
        baseline = folder / f"folds/{part}/baselines/bqml-logistic_reg"
        assert read(baseline / "baseline.json")["model"]
    planned = read(folder / "plan.json")
    assert planned["jobs"] == {"dataflow": 1, "tuning": 4, "custom": 6, "automl": 0, "batch": 0}
    deployed = read(folder / "training/1/metrics.json")
    assert deployed["test"] is None
    assert deployed["dataset"]["uri"].endswith("/folds/all/")
    told = read(folder / "leaderboard/challenger.json")
    assert told["contender"] == "training/1"
    assert told["examples"]
