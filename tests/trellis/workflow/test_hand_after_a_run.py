"""A person's hand in a run that has ended: each task cleared alone.

The tasks are those of the DAG: a new stage is walked, too. What a run has paid for is there, so
nothing is paid for again, whatever is cleared.
"""

import functools

import pytest

from tests.airflow_side import ROOT, clear_and_go_on, run_dag
from trellis.workflow.assembly import training
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
FILES = {"image": "digits", "table": "breast-cancer"}


def made(kind):
    """The DAG of an experiment on images or on a table; needs no local_gcp."""
    experiment = load(ROOT / f"dags/experiments/{FILES[kind]}.yaml")
    experiment = with_changes(experiment, CHANGES[kind])
    values = platform.load(ROOT / "dags").model_dump(mode="json", exclude_none=True)
    own = {"bucket": BUCKET, "registry": "example.com/stand-in", "retry_seconds": 1}
    group = platform.Platform.model_validate(values | own)
    return training.build(experiment.model_copy(update={"name": f"hand-{kind}"}), group)


STAGES = [(kind, stage) for kind in CHANGES for stage in made(kind).task_ids]


@pytest.fixture(scope="module")
def ended(google):
    """Makes, once, a DAG of this kind and a run of it that has ended well."""
    from google.cloud import bigquery

    (google.buckets / BUCKET).mkdir(exist_ok=True)
    (google.buckets / BUCKET / "manifest.csv").write_text(MANIFEST)
    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("hand_after", exists_ok=True)
    client.query_and_wait(
        """
        CREATE TABLE hand_after.cells AS
        SELECT CONCAT('s', CAST(n AS STRING)) AS sample_id, MOD(n, 2) = 0 AS malignant,
          SIN(n) + MOD(n, 2) AS radius
        FROM UNNEST(GENERATE_ARRAY(1, 400)) AS n
        """
    )

    @functools.cache
    def make(kind):
        dag = made(kind)
        run = run_dag(dag)
        assert run.state == "success", states(run)
        return dag, run

    return make


def states(run):
    return {(ti.task_id, ti.map_index): str(ti.state) for ti in run.get_task_instances()}


def paid(google, dag):
    return [j for j in google.status()["jobs"] if j["labels"].get("airflow-dag") == dag.dag_id]


@pytest.mark.parametrize(("kind", "stage"), STAGES)
def test_a_task_that_is_cleared_alone_ends_as_before(google, ended, kind, stage):
    dag, run = ended(kind)
    before, jobs = states(run), len(paid(google, dag))
    assert states(clear_and_go_on(dag, run, stage, alone=True)) == before
    assert len(paid(google, dag)) == jobs
