"""Whole runs of a time to an event: a network behind a gate at a horizon, followed by Cox's model
of scikit-survival's by a canary, rolled back to and forward again, explained, predicted in bulk,
and scored as times and events arrive.
"""

import json
import subprocess

import pytest
from google.cloud import bigquery

from tests.airflow_side import ROOT, run_dag
from tests.trellis.workflow import platforms, succession
from tests.trellis.workflow.succession import read
from tests.trellis.workflow.whole_runs import states
from trellis.workflow.assembly import prediction
from trellis.workflow.validation.file import load, with_changes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

# The rate of exponential times rises with `nodes`; a fifth is seen for at most 900 days.
ROWS = """
    SELECT CONCAT('p', CAST(n AS STRING)) AS patient, nodes, age,
      CAST(1 + LEAST(900 * hazard / EXP(0.6 * nodes), seen) AS INT64) AS days,
      IF(900 * hazard / EXP(0.6 * nodes) <= seen, 1, 0) AS recurred
    FROM (
      SELECT n, IF(MOD(n, 5) = 0, 900, 3000) AS seen, 3 * SIN(n) AS nodes, COS(n * 3) AS age,
        -LN(MOD(n * 7919, 997) / 997 + 0.0005) AS hazard
      FROM UNNEST(GENERATE_ARRAY(1, 400)) AS n
    )
"""
GATE = {"require": {"concordance": 0.6, "horizon_auc@1095": 0.65}, "tolerance": None}
NETWORK = {("hyperparameters",): {"objective": "hazards", "units": 16, "learning_rate": 0.02}}
COX = {("model",): "proportional_hazards.py", ("hyperparameters",): {"ridge": 0.01}}


@pytest.fixture
def platform(google, group):
    (google.buckets / "survival-runs").mkdir(exist_ok=True)
    return platforms.of_tests(group, bucket="survival-runs", registry="example.com/made")


@pytest.fixture
def experiment():
    """A function: changes of the example -> the experiment, of other rows and without a search."""
    subprocess.run(["make", "--silent", "image", "NAME=survival"], cwd=ROOT, check=True)

    def made(changes):
        own = {
            ("source", "bigquery"): None,
            ("source", "query"): ROWS,
            ("predict",): {"query": ROWS, "truth": f"SELECT patient, days, recurred FROM ({ROWS})"},
            ("tune",): None,
            ("other_models",): None,
            ("train",): {"maximize": "concordance", "epochs": 20},
            ("deploy",): {"gate": GATE, "canary": [50, 100]},
        }
        shipped = load(ROOT / "dags/experiments/survival.yaml")
        return with_changes(shipped, own | changes).model_copy(update={"name": "a-survival"})

    return made


def test_a_network_is_followed_by_coxs_model_and_put_back(google, platform, experiment):
    networks, coxs = experiment(NETWORK), experiment(COX)
    ours, theirs = succession.follow(google, platform, networks, coxs)
    for folder, model in ((ours, "dense"), (theirs, "proportional_hazards.py")):
        assert read(folder / "training/1/metrics.json")["model"] == model
        checks = read(folder / "leaderboard/leaderboard.json")["promotion"]["checks"]
        assert {check["check"]: check["passed"] for check in checks} == {
            "concordance at least 0.6": True,
            "AUC at 1095 at least 0.65": True,
        }
    steps = read(theirs / "deployment.json")["steps"]
    assert [s["share"] for s in steps if s["step"].startswith("smoke")] == [50, 100]
    example = succession.challenger_of(theirs).examples[0]
    answer = succession.explained(platform, coxs.name, example.instance)
    assert answer["explanation"]["attributions"].keys() == example.instance.keys()
    for version, folder in (("1", ours), ("2", theirs)):
        check_bulk(google, platform, coxs, folder, version)
    check_later(google, platform, coxs)


def check_bulk(google, platform, experiment, folder, version):
    """A version's batch prediction is what its run has predicted of its test split."""
    predicted = run_dag(prediction.build(experiment, platform), model=version)
    assert predicted.state == "success", states(predicted)
    runs = google.buckets / platform.bucket / experiment.name / "predictions"
    record = max(runs.glob("*/predictions.json"), key=lambda file: file.stat().st_mtime)
    found = read(record)
    assert (found["instances"], found["predicted"], found["failed"]) == (400, 400, 0)
    rows = bigquery.Client(project="local-gcp").query_and_wait(f"SELECT * FROM `{found['output']}`")
    answers = {row["key"]: row for row in rows}
    for example in succession.challenger_of(folder).examples:
        answer = answers[example.key]
        assert answer["risk"] == pytest.approx(example.prediction["risk"], abs=1e-5)
        survival = json.loads(answer["prediction"])["survival"]
        assert survival.keys() == {"365", "1095", "1825"}
        assert survival == pytest.approx(example.prediction["survival"], abs=1e-5)


def check_later(google, platform, experiment):
    """The second prediction's run has scored the first on the test split: of the 400 rows, which
    are those of the table that it learned from, all others taught the model or chose it.
    """
    (scored,) = (google.buckets / platform.bucket).rglob("performance.json")
    (found,) = read(scored)["runs"].values()
    assert (found["examples"], found["primary"]) == (60, "concordance")
    assert {"horizon_auc", "horizon_brier"} <= found["metrics"].keys()
    assert "integrated_brier" not in found["metrics"]
    assert found["metrics"]["concordance"]["value"] > 0.65
    assert 0 < found["metrics"]["horizon_brier"]["value"] < 0.25
