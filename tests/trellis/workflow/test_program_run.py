"""Whole runs whose champion is not a training of ours: an image that knows nothing of Trellis, and
a model of BigQuery ML. With the real trainer, BigQuery, registry and servers.
"""

import json

import pytest

from tests.airflow_side import ROOT, run_dag
from tests.trellis.workflow.whole_runs import said, states
from trellis.workflow.assembly import rollback, training
from trellis.workflow.spec.platform import Platform
from trellis.workflow.validation.file import load, with_changes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROWS = """
    SELECT CONCAT('s', CAST(n AS STRING)) AS sample_id,
      IF(SIN(n) + 0.6 * SIN(n * 7.1) > 0, 'yes', 'no') AS malignant,
      SIN(n) AS radius, COS(n * 3) AS texture
    FROM UNNEST(GENERATE_ARRAY(1, 500)) AS n
"""


@pytest.fixture
def platform(google, group):
    (google.buckets / "program-runs").mkdir(exist_ok=True)
    values = group.model_dump(mode="json", exclude_none=True)
    return Platform.model_validate(values | {"bucket": "program-runs", "retry_seconds": 1})


def an_experiment(name, **changes):
    own = {
        ("source", "bigquery"): None,
        ("source", "query"): ROWS,
        ("schedule",): "manual",
        ("deploy", "canary"): [100],
        ("deploy", "gate", "require"): {"auc": 0.7},
    }
    named = {tuple(key.split("__")): value for key, value in changes.items()}
    shipped = load(ROOT / "dags/experiments/neighbours.yaml")
    return with_changes(shipped, own | named).model_copy(update={"name": name})


def newest(google, name):
    runs = (google.buckets / "program-runs" / name / "runs").iterdir()
    return max(runs, key=lambda folder: folder.stat().st_mtime)


def test_a_program_with_numpy_alone_is_tuned_compared_and_served(google, platform):
    dag = training.build(an_experiment("a-program"), platform)
    run = run_dag(dag)
    assert run.state == "success", states(run)
    folder = newest(google, "a-program")
    metrics = json.loads((folder / "training/1/metrics.json").read_text())
    assert metrics["strategy"] == "program"
    (chosen,) = json.loads((folder / "trials.json").read_text())["chosen"]
    assert metrics["hyperparameters"] == chosen["parameters"]
    deployment = json.loads((folder / "deployment.json").read_text())
    assert deployment["state"] == "serving"
    # The next run compares its training with the served one, of the same dataset.
    second = run_dag(dag)
    board = json.loads((newest(google, "a-program") / "leaderboard/leaderboard.json").read_text())
    served = next(c for c in board["contenders"] if c["kind"] == "served")
    assert (second.state, served["status"]) == ("success", "ok")


def test_a_model_of_bigquery_is_served_followed_by_a_network_and_put_back(google, platform):
    network = {
        "model": "dense",
        "image": None,
        "program": None,
        "tune": None,
        "train__maximize": "auc",
        "deploy__gate__tolerance": None,
    }
    weak = {**network, "hyperparameters": {"units": 1, "learning_rate": 1e-6}}
    allowing = {"deploy__allow": ["trainings", "bqml"], **weak}
    run = run_dag(training.build(an_experiment("a-service", **allowing), platform))
    assert run.state == "success", states(run)
    folder = newest(google, "a-service")
    challenger = json.loads((folder / "leaderboard/challenger.json").read_text())
    assert challenger["service"] == "bqml"
    assert json.loads((folder / "deployment.json").read_text())["state"] == "serving"

    own = {**network, "train__epochs": 3, "deploy__allow": ["trainings"]}
    other = an_experiment("a-service", **own)
    followed = run_dag(training.build(other, platform))
    assert followed.state == "success", said(followed)
    back = run_dag(
        rollback.build({"a-service": other}, platform), experiment="a-service", version="previous"
    )
    assert back.state == "success", states(back)
