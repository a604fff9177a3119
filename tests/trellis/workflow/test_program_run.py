"""Whole runs whose champion is not a training of ours: an image that knows nothing of Trellis,
models of BigQuery ML and AutoML. With the real trainer, BigQuery, registry and servers.
"""

import json

import pytest
from google.cloud import bigquery

from tests.airflow_side import ROOT, run_dag
from tests.trellis.workflow import succession
from tests.trellis.workflow.succession import read
from tests.trellis.workflow.whole_runs import said, states
from trellis.workflow.assembly import prediction, training
from trellis.workflow.spec.platform import Platform
from trellis.workflow.validation.file import load, with_changes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

# A line tells some of it, a network nearly all.
ROWS = """
    SELECT CONCAT('s', CAST(n AS STRING)) AS sample_id,
      IF(0.4 * SIN(n) + ABS(COS(n * 3)) + 0.15 * SIN(n * 7.1) > 0.64, 'yes', 'no') AS malignant,
      SIN(n) AS radius, COS(n * 3) AS texture
    FROM UNNEST(GENERATE_ARRAY(1, 500)) AS n
"""
NETWORK = {
    "model": "dense",
    "image": None,
    "program": None,
    "tune": None,
    "predict": None,
    "train__maximize": "auc",
    "hyperparameters": {"units": 64, "learning_rate": 0.01},
    "train__epochs": 40,
}
WEAK = {**NETWORK, "hyperparameters": {"units": 1, "learning_rate": 1e-6}, "train__epochs": 1}


@pytest.fixture
def platform(google, group):
    (google.buckets / "program-runs").mkdir(exist_ok=True)
    values = group.model_dump(mode="json", exclude_none=True)
    return Platform.model_validate(values | {"bucket": "program-runs", "retry_seconds": 1})


def an_experiment(name, **changes):
    own = {
        ("source", "bigquery"): None,
        ("source", "query"): ROWS,
        ("predict",): {"query": ROWS},
        ("schedule",): "manual",
        ("deploy", "canary"): [100],
        ("deploy", "gate", "require"): {"auc": 0.7},
    }
    named = {tuple(key.split("__")): value for key, value in changes.items()}
    shipped = load(ROOT / "dags/experiments/neighbours.yaml")
    return with_changes(shipped, own | named).model_copy(update={"name": name})


def test_a_program_is_tuned_and_compared_followed_by_a_network_and_put_back(google, platform):
    name = "a-program"
    first = an_experiment(name)
    # It has predicted the test split of its own rows alone: there is nothing to compare with.
    second = an_experiment(name, **NETWORK, deploy__gate__tolerance=None)
    theirs, ours = succession.follow(google, platform, first, second)
    metrics = read(theirs / "training/1/metrics.json")
    assert metrics["strategy"] == "program"
    (chosen,) = read(theirs / "trials.json")["chosen"]
    assert metrics["hyperparameters"] == chosen["parameters"]
    assert read(ours / "training/1/metrics.json")["model"] == "dense"
    check_bulk(google, platform, first, theirs)


def check_bulk(google, platform, experiment, folder):
    """A batch prediction by the first version is what the run has predicted of its test split."""
    predicted = run_dag(prediction.build(experiment, platform), model="1")
    assert predicted.state == "success", states(predicted)
    runs = google.buckets / platform.bucket / experiment.name / "predictions"
    (record,) = runs.glob("*/predictions.json")
    found = read(record)
    assert (found["instances"], found["predicted"], found["failed"]) == (500, 500, 0)
    rows = bigquery.Client(project="local-gcp").query_and_wait(f"SELECT * FROM `{found['output']}`")
    answers = {row["key"]: row for row in rows}
    for example in succession.challenger_of(folder).examples:
        answer = answers[example.key]
        assert answer["label"] == example.prediction["label"]
        probabilities = json.loads(answer["prediction"])["probabilities"]
        assert probabilities == pytest.approx(example.prediction["probabilities"], abs=1e-6)


ALONE = {"tune": None, "train__maximize": "auc", "predict": None}


def test_the_next_run_compares_with_the_served_program(google, platform):
    dag = training.build(an_experiment("again", **ALONE), platform)
    for _ in range(2):
        run = run_dag(dag)
        assert run.state == "success", said(run)
    folder = succession.newest_run(google, platform, "again")
    contenders = read(folder / "leaderboard/leaderboard.json")["contenders"]
    assert {c["kind"]: c["status"] for c in contenders}["served"] == "ok"


SERVICES = {
    "bqml": ({"bqml": ["logistic_reg"]}, ["trainings", "bqml"], ROWS.replace("500", "600")),
    "automl": ({"automl": {"node_hours": 1}}, ["trainings"], ROWS),
}


@pytest.mark.parametrize("service", SERVICES)
def test_a_services_model_is_served_followed_by_a_network_and_put_back(google, platform, service):
    """The network wins against BigQuery ML's new model, too; the old one is asked for what it
    predicts of other rows. AutoML may be as good, so that it competes no more.
    """
    baselines, allowed, rows = SERVICES[service]
    own = {"baselines": baselines, "budget": "100 USD"}
    first = an_experiment(f"by-{service}", **WEAK, **own, deploy__allow=["trainings", service])
    then = {"source__query": rows, "deploy__allow": allowed, "deploy__gate__tolerance": 0.05}
    second = an_experiment(f"by-{service}", **NETWORK, **own, **then)
    theirs, ours = succession.follow(google, platform, first, second)
    assert succession.challenger_of(theirs).service == service
    assert succession.challenger_of(ours).service is None
    board = read(ours / "leaderboard/leaderboard.json")
    assert {c["name"]: c["status"] for c in board["contenders"]}["served"] == "ok"
    if service == "bqml":
        assert board["winner"] == "training/1"
