"""Runs that have ended, one of each kind of DAG, for tests of a person's hand in them.

Training (on images with a deployment, on a table with baselines and repeats), prediction (images, a
table) and rollback. What they have paid for is there.
"""

import functools

import pytest

from tests.airflow_side import ROOT, run_dag
from tests.trellis.workflow import platforms
from tests.trellis.workflow.stages.prediction.conftest import LEARNED, Predictions
from tests.trellis.workflow.stages.rollback.conftest import Registry
from trellis.workflow.assembly import prediction, rollback, training
from trellis.workflow.spec import platform
from trellis.workflow.validation.file import load, with_changes

BUCKET = "hand-after"
MANIFEST = "".join(f"gs://{BUCKET}/{n}.png,{n % 2}\n" for n in range(300))

CHANGES = {
    "image": {
        ("source", "images"): "manifest.csv",
        ("deploy",): {"gate": {"require": {"accuracy": 1e-9}}, "canary": [100]},
        ("tune", "trials"): 2,
        ("tune", "parallel"): 2,
    },
    "table": {
        ("source", "bigquery"): "hand_after.cells",
        ("source", "partition"): None,
        ("source", "categorical"): [],
        ("schedule",): "manual",
        ("until",): None,
        ("deploy",): None,
        ("tune", "maximize"): "accuracy",
        ("tune", "trials"): 2,
        ("train", "top"): 2,
        ("train", "seeds"): 2,
        ("baselines", "bqml"): ["logistic_reg"],
        ("baselines", "options"): {},
        ("baselines", "automl"): None,
        ("budget",): "900 USD",
    },
}
PREDICT = {
    "image": {"images": "hand-inbox"},
    "table": {"bigquery": "hand_after.rows"},
}
FILES = {"image": "digits", "table": "breast-cancer"}
KINDS = ("image", "table", "predict-image", "predict-table", "rollback")


def _group():
    group = platform.load(ROOT / "dags")
    return platforms.of_tests(group, bucket=BUCKET, registry="example.com/stand-in")


def _experiment(kind):
    what, _, of = kind.partition("-")
    experiment = load(ROOT / f"dags/experiments/{FILES.get(of or what, 'digits')}.yaml")
    if what == "predict":
        experiment = with_changes(experiment, {("predict",): PREDICT[of]})
    elif what == "rollback":
        gate = {"gate": {"require": {"accuracy": 0.5}}}
        experiment = with_changes(experiment, {("deploy",): gate})
    else:
        experiment = with_changes(experiment, CHANGES[kind])
    return experiment.model_copy(update={"name": f"hand-{kind}"})


def made(kind):
    """The DAG of this kind; needs no local_gcp."""
    experiment, group = _experiment(kind), _group()
    if kind == "rollback":
        return rollback.build({experiment.name: experiment}, group)
    if kind.startswith("predict"):
        return prediction.build(experiment, group)
    return training.build(experiment, group)


def stages(kind):
    """The ids of all tasks of the DAG of this kind."""
    return list(made(kind).task_ids)


@pytest.fixture(scope="module")
def ended(google):
    """Makes, once, a DAG of a kind and a run of it that has ended well."""
    (google.buckets / BUCKET).mkdir(exist_ok=True)

    @functools.cache
    def make(kind):
        dag = made(kind)
        conf = _ready(google, kind) or {}
        run = run_dag(dag, **conf)
        assert run.state == "success", states(run)
        return dag, run

    return make


def _ready(google, kind):
    """Makes what a run of this kind starts from; what it is triggered with."""
    from google.cloud import bigquery

    folder = google.buckets / BUCKET
    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("hand_after", exists_ok=True)
    if kind == "image":
        (folder / "manifest.csv").write_text(MANIFEST)
    elif kind == "table":
        client.query_and_wait(
            """
            CREATE TABLE hand_after.cells AS
            SELECT CONCAT('s', CAST(n AS STRING)) AS sample_id, MOD(n, 2) = 0 AS malignant,
              SIN(n) + MOD(n, 2) AS radius
            FROM UNNEST(GENERATE_ARRAY(1, 400)) AS n
            """
        )
    elif kind == "predict-image":
        (folder / "hand-inbox").mkdir(parents=True)
        for n in range(3):
            (folder / f"hand-inbox/{n}.png").write_bytes(bytes([n]))
        Predictions(folder, _experiment(kind), _group(), BUCKET).promote("champion")
    elif kind == "predict-table":
        client.query_and_wait(
            """
            CREATE TABLE hand_after.rows AS
            SELECT n AS sample, n / 2 AS x, 'early' AS stage,
              TIMESTAMP '2024-01-01 00:00:00' AS `taken at`
            FROM UNNEST(GENERATE_ARRAY(1, 5)) AS n
            """
        )
        made_by = Predictions(folder, _experiment(kind), _group(), BUCKET)
        made_by.promote("champion", table=LEARNED)
    else:
        registry = Registry(google, _experiment(kind), _group(), BUCKET)
        registry.upload("previous")
        registry.upload("champion")
        registry.create_endpoint()
        registry.deploy("2").result(timeout=30)
        return {"experiment": registry.name, "version": "1"}
    return None


def states(run):
    """{(task, copy): state} of a run."""
    return {(ti.task_id, ti.map_index): str(ti.state) for ti in run.get_task_instances()}


def attempts(run):
    """{(task, copy): attempts} of a run."""
    return {(ti.task_id, ti.map_index): ti.try_number for ti in run.get_task_instances()}


def paid(google, dag):
    """The jobs that runs of a DAG have started."""
    return [j for j in google.status()["jobs"] if j["labels"].get("airflow-dag") == dag.dag_id]
