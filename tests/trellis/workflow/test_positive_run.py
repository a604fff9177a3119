"""`positive` through a whole run: decisions, leaderboard, gate, report and endpoint follow it.

With the real trainer. The class of interest is rare, and the first of the two in natural order, so
that without `positive` the other one would lead.
"""

import json

import pytest

from tests.airflow_side import run_dag
from trellis import load_run
from trellis.workflow.assembly import training
from trellis.workflow.spec.platform import Platform
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
decision: {maximize: balanced_accuracy}
train: {maximize: balanced_accuracy, epochs: 20, machines: {workers: 1}}
baselines: {bqml: [logistic_reg]}
deploy:
  gate: {require: {sensitivity: 0.5, specificity: 0.5}, beat: nothing}
  canary: [100]
"""

# One in five is ill, and one in ten of the values belongs to the other class.
ROWS = """
CREATE TABLE positive_runs.visits AS
SELECT CONCAT('v', CAST(n AS STRING)) AS visit,
  SIN(n) + 2 * CAST(MOD(n, 5) = 0 AND MOD(n, 50) != 0 OR MOD(n, 51) = 0 AS INT64) AS x,
  COS(3 * n) AS y,
  IF(MOD(n, 5) = 0, 'ill', 'well') AS outcome
FROM UNNEST(GENERATE_ARRAY(1, 600)) AS n
"""


@pytest.fixture(scope="module")
def run(google, group, tmp_path_factory):
    """The run, as its author reads it."""
    from google.cloud import bigquery, storage

    (google.buckets / BUCKET).mkdir(exist_ok=True)
    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("positive_runs", exists_ok=True)
    client.query_and_wait(ROWS)
    file = tmp_path_factory.mktemp("positive") / "positive-run.yaml"
    file.write_text(EXPERIMENT)
    values = group.model_dump(mode="json", exclude_none=True)
    platform = Platform.model_validate(values | {"bucket": BUCKET, "retry_seconds": 1})
    ended = run_dag(training.build(load(file), platform))
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
    metrics = json.loads((folder / "training/1/metrics.json").read_text())
    threshold = metrics["threshold"]
    assert threshold["class"] == ILL
    assert (taken == (share > threshold["above"])).all()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_report_leads_with_it(run):
    _, folder = run
    report = (folder / "leaderboard/report.html").read_text()
    assert f"Positive is {ILL}" in report
    assert f"Positive is {WELL}" not in report
    assert f"the share of {ILL} in the test split" in report


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_endpoint_decides_as_the_run_did(run):
    from google.cloud import aiplatform_v1
    from google.protobuf import json_format, struct_pb2

    run, folder = run
    deployment = json.loads((folder / "deployment.json").read_text())
    client = aiplatform_v1.PredictionServiceClient(
        client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    )
    rows, predicted = run.rows(), run.predictions("training/1")
    predicted = predicted.loc[rows.index]
    instances = [
        json_format.ParseDict(row, struct_pb2.Value())
        for row in rows[["x", "y"]].to_dict("records")
    ]
    answers = client.predict(endpoint=deployment["endpoint"], instances=instances).predictions
    assert [answer["label"] for answer in answers] == list(predicted.predicted)
    assert {ILL, WELL} == {answer["label"] for answer in answers}


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
