"""`positive` through a whole run: decisions, leaderboard, gate, report, endpoint and batch follow
it, and what the validation split decides beside the threshold: calibration, abstention and sets.

With the real trainer. The class of interest is rare, and the first of the two in natural order, so
that without `positive` the other one would lead.
"""

import json

import numpy as np
import pytest

from tests.airflow_side import run_dag
from tests.trellis.workflow import asking, platforms
from tests.trellis.workflow.succession import read
from trellis import load_run
from trellis.workflow.assembly import training
from trellis.workflow.validation.file import load

BUCKET = "positive-runs"
ILL, WELL = "ill", "well"

EXPERIMENT = """
owner: trellis
schedule: manual
budget: 5 USD
source: {bigquery: positive_runs.visits, key: visit, label: outcome, shards: 1}
model: dense
task: binary_classification
positive: ill
hyperparameters: {learning_rate: 0.02, units: 16, batch_size: 16}
calibrate: temperature
decision: {maximize: balanced_accuracy}
abstain: 0.2
coverage: 0.95
train: {maximize: balanced_accuracy, epochs: 20, machines: {workers: 1}}
baselines: {bqml: [logistic_reg]}
deploy:
  gate: {require: {sensitivity: 0.5, specificity: 0.5}, beat: nothing}
  canary: [100]
predict: {bigquery: positive_runs.visits}
"""

# One in five is ill, and one in ten of the values belongs to the other class.
ROWS = """
CREATE TABLE positive_runs.visits AS
SELECT CONCAT('v', CAST(n AS STRING)) AS visit,
  SIN(n) + 2 * CAST(MOD(n, 5) = 0 AND MOD(n, 50) != 0 OR MOD(n, 51) = 0 AS INT64) AS x,
  COS(3 * n) AS y,
  IF(MOD(n, 5) = 0, 'ill', 'well') AS outcome
FROM UNNEST(GENERATE_ARRAY(1, 1000)) AS n
"""


@pytest.fixture(scope="module")
def made(google, group, tmp_path_factory):
    """The experiment and the group's platform; its table is there."""
    from google.cloud import bigquery

    (google.buckets / BUCKET).mkdir(exist_ok=True)
    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("positive_runs", exists_ok=True)
    client.query_and_wait(ROWS)
    file = tmp_path_factory.mktemp("positive") / "positive-run.yaml"
    file.write_text(EXPERIMENT)
    platform = platforms.of_tests(group, bucket=BUCKET)
    return load(file), platform


@pytest.fixture(scope="module")
def run(google, made):
    """The run, as its author reads it."""
    from google.cloud import storage

    ended = run_dag(training.build(*made))
    assert ended.state == "success", {t.task_id: str(t.state) for t in ended.get_task_instances()}
    (folder,) = (google.buckets / BUCKET / "positive-run/runs").iterdir()
    uri = f"gs://{BUCKET}/positive-run/runs/{folder.name}/"
    return load_run(uri, storage.Client(project="local-gcp")), folder


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_that_has_a_positive_class_follows_the_file(run):
    run, folder = run
    board = run.leaderboard()
    assert run.metrics().attrs["positive"] == ILL

    selected = "training/1"
    predicted = run.predictions(selected)
    ill, share = predicted.label == ILL, predicted[f"p.{ILL}"]
    taken = predicted.predicted == ILL
    own = board.loc[selected]
    assert 0 < taken.sum() < len(taken)
    assert own.sensitivity == pytest.approx((taken & ill).sum() / ill.sum(), abs=1e-6)
    assert own.specificity == pytest.approx((~taken & ~ill).sum() / (~ill).sum(), abs=1e-6)
    assert own.ppv == pytest.approx((taken & ill).sum() / taken.sum(), abs=1e-6)
    assert own.npv == pytest.approx((~taken & ~ill).sum() / (~taken).sum(), abs=1e-6)
    for name in board.index:
        scored = run.predictions(name)
        assert board.loc[name].average_precision == pytest.approx(
            steps(scored.label == ILL, scored[f"p.{ILL}"]), abs=1e-6
        )

    # The threshold names the class, and is what the decisions follow.
    threshold = read(folder / "training/1/metrics.json")["threshold"]
    assert threshold["class"] == ILL
    assert (taken == (share > threshold["above"])).all()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_report_leads_with_it(run):
    _, folder = run
    report = (folder / "leaderboard/report.html").read_text()
    assert f"Positive is {ILL}" in report
    assert f"Positive is {WELL}" not in report
    assert f"the share of {ILL} among the test examples" in report


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_endpoint_and_batch_answer_as_the_run_did(google, made, run):
    """Each answer has the calibrated probability, the decision, its set of classes, and whether it
    is handed back.
    """
    run, folder = run
    told = answers_of_the_run(run, folder)
    asked = asked_of_the_endpoint(run, folder)
    assert asked.keys() == told.keys()
    in_bulk = asked_in_bulk(google, *made)
    assert len(in_bulk) == 1000
    for key, answer in told.items():
        for found in (asked[key], in_bulk[key]):
            shares = found["probabilities"]
            assert shares[ILL] == pytest.approx(answer["share"], abs=1e-5)
            assert shares[ILL] + shares[WELL] == pytest.approx(1, abs=1e-5)
            assert found["label"] == answer["label"]
            assert answer["close"] or sorted(found["set"]) == answer["set"]
            assert answer["close"] or found["abstained"] is answer["abstained"]
    assert sum(answer["close"] for answer in told.values()) < 5
    # None of it is the same for every example.
    assert {answer["label"] for answer in told.values()} == {ILL, WELL}
    assert {answer["abstained"] for answer in told.values()} == {True, False}
    assert len({tuple(answer["set"]) for answer in told.values()}) > 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_what_is_served_is_calibrated_as_the_leaderboard_says(run):
    run, folder = run
    (chosen,) = (one for one in read(folder / BOARD)["contenders"] if one["selected"])
    facts, metrics = chosen["training"], chosen["metrics"]
    assert facts["calibration"]["temperature"] != pytest.approx(1, abs=0.01)
    asked, predicted = asked_of_the_endpoint(run, folder), run.predictions("training/1")
    of_truth = [asked[key]["probabilities"][label] for key, label in predicted.label.items()]
    loss = -np.log(of_truth).mean()
    assert loss == pytest.approx(metrics["log_loss"]["value"], abs=1e-4)
    assert loss != pytest.approx(facts["calibration"]["before"]["log_loss"]["value"], abs=1e-4)
    # What the report says of abstention and sets is what the endpoint answers.
    handed_back = [answer["abstained"] for answer in asked.values()]
    assert 1 - np.mean(handed_back) == pytest.approx(facts["abstention"]["answered"]["value"])
    covered = [label in asked[key]["set"] for key, label in predicted.label.items()]
    assert np.mean(covered) == pytest.approx(facts["conformal"]["reached"]["value"], abs=1e-6)


BOARD = "leaderboard/leaderboard.json"


def answers_of_the_run(run, folder):
    """By key, what predictions.parquet and the model's postprocessing.json make of each test row.
    close: rounding may decide otherwise.
    """
    done = read(folder / "training/1/model/postprocessing.json")
    at, below = done["conformal"]["above"], done["abstention"]["below"]
    threshold = read(folder / "training/1/metrics.json")["threshold"]["above"]
    found = {}
    for key, row in run.predictions("training/1").iterrows():
        share = row[f"p.{ILL}"]
        certainty = abs(share - threshold)
        shares = {ILL: share, WELL: 1 - share}
        likely = max(shares, key=shares.get)
        found[key] = {
            "share": share,
            "label": row.predicted,
            "abstained": bool(certainty < below),
            "set": sorted(name for name, p in shares.items() if p >= at or name == likely),
            "close": min(abs(certainty - below), *(abs(p - at) for p in shares.values())) < 1e-5,
        }
    return found


def asked_of_the_endpoint(run, folder):
    """The endpoint's answer to each test row, by key."""
    return asking.endpoint(folder, run.rows()[["x", "y"]])


def asked_in_bulk(google, experiment, platform):
    """The batch prediction's answer to each row of the table, by key: from its columns."""
    return {
        key: {
            "label": row["label"],
            "abstained": row["abstained"],
            "set": row["prediction_set"],
            "probabilities": json.loads(row["prediction"])["probabilities"],
        }
        for key, row in asking.in_bulk(google, experiment, platform).items()
    }


def steps(positive, share):
    """The area under the precision-recall curve by steps, from its definition."""
    order = share.sort_values(ascending=False, kind="stable").index
    hits = positive.loc[order].to_numpy()
    tied = share.loc[order].to_numpy()
    area = recognized = 0.0
    for n in range(len(hits)):
        if n + 1 < len(hits) and tied[n + 1] == tied[n]:
            continue
        found = hits[: n + 1].sum()
        area += (found - recognized) / hits.sum() * found / (n + 1)
        recognized = found
    return area
