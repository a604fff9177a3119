"""A person's hand in the UI: the tasks of a DAG, after tasks that somebody marked.

Each task before the deployment runs alone, after `plan`; all others are marked as success, as in
the UI, and have left nothing. It then does what needs nothing of theirs, or says in one sentence
which task to clear; it is not tried again, and nothing is paid for that cannot succeed. The tasks
are those of the DAG: a new stage is walked, too.
"""

import re

import pytest

from tests.airflow_side import clear_and_go_on, run_dag, run_logs
from tests.trellis.workflow import platforms
from trellis.workflow.assembly import training
from trellis.workflow.stages import failed
from trellis.workflow.validation.file import with_changes

TABLE = "hand.cells"

CHANGES = {
    ("source", "bigquery"): TABLE,
    ("source", "partition"): None,
    ("source", "categorical"): [],
    ("schedule",): "manual",
    ("until",): None,
    ("budget",): "900 USD",
    ("train", "seeds"): 2,
    ("baselines", "bqml"): ["logistic_reg"],
    ("baselines", "options"): {},
}
"""The demo's experiment on a table, with every stage that it can have."""

NEEDS_NOTHING = {
    "plan": "it is the first",
    "snapshot": "it reads the source",
    "served": "it asks the endpoint",
    "changes": "a first dataset has none before",
    "baselines": "a baseline without a job has failed, and the run goes on",
    "settled": "it waits for the others alone",
}
"""Tasks that may end well though the others left nothing, and why."""


@pytest.fixture(scope="module")
def client(google):
    """BigQuery with a table of 200 rows, and a bucket."""
    from google.cloud import bigquery

    (google.buckets / "hand").mkdir(exist_ok=True)
    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("hand", exists_ok=True)
    client.query_and_wait(
        f"""
        CREATE TABLE {TABLE} AS
        SELECT CONCAT('s', CAST(n AS STRING)) AS sample_id, MOD(n, 2) = 0 AS malignant,
          SIN(n) + MOD(n, 2) AS radius
        FROM UNNEST(GENERATE_ARRAY(1, 200)) AS n
        """
    )
    return client


@pytest.fixture(scope="module")
def dag(client, breast_cancer, group):
    """A DAG with every stage that an experiment on a table can have."""
    experiment = with_changes(breast_cancer, CHANGES).model_copy(update={"name": "hand"})
    own = platforms.of_tests(group, bucket="hand", registry="example.com/stand-in")
    return training.build(experiment, own)


@pytest.fixture(scope="module")
def planned(dag):
    """A run whose `plan` has run; all others are marked as success, and have left nothing."""
    others = "|".join(re.escape(name) for name in dag.task_ids if name != "plan")
    run = run_dag(dag, marked=others)
    assert run.state == "success"
    return run


def tables(client):
    datasets = [each.reference for each in client.list_datasets()]
    return {table.reference for each in datasets for table in client.list_tables(each)}


def files(google):
    return {path for path in (google.buckets / "hand").rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def there(google, client, planned):
    """The tables and files that there are once the run is planned."""
    return tables(client) | files(google)


@pytest.fixture
def run_alone(google, client, dag, planned, there, monkeypatch):
    """Runs one task of that run: the task's instance. What it has left is removed at the end."""
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    # What the run has cost until then: test_failed_runs.py. It asks every service.
    monkeypatch.setattr(failed, "_so_far", lambda *_: None)

    def run_alone(stage):
        run = clear_and_go_on(dag, planned, stage, alone=True)
        return next(ti for ti in run.get_task_instances() if ti.task_id == stage)

    states = {(ti.task_id, ti.map_index): ti.state for ti in planned.get_task_instances()}
    yield run_alone
    for table in tables(client) - there:
        client.delete_table(table)
    for path in files(google) - there:
        path.unlink()
    with create_session() as session:
        left = session.query(XComModel).filter_by(dag_id=dag.dag_id, run_id=planned.run_id)
        left.filter(XComModel.task_id != "plan").delete()
        for ti in session.merge(planned).get_task_instances(session=session):
            ti.state = states[ti.task_id, ti.map_index]


def paid(google):
    return [job for job in google.status()["jobs"] if job["labels"].get("airflow-dag") == "hand"]


def stages():
    """The ids of all tasks up to the deployment, without a local_gcp."""
    from tests.airflow_side import ROOT
    from trellis.workflow.spec import platform
    from trellis.workflow.validation.file import load

    group = platform.load(ROOT / "dags")
    experiment = load(ROOT / "dags/experiments/breast-cancer.yaml")
    task_ids = training.build(with_changes(experiment, CHANGES), group).task_ids
    return [name for name in task_ids if not name.startswith("deploy.")]


@pytest.mark.parametrize("stage", stages())
def test_a_stage_after_stages_that_were_marked_as_success(
    google, planned, run_alone, stage, capsys
):
    before = len(paid(google))
    (tries,) = {ti.try_number for ti in planned.get_task_instances() if ti.task_id == stage}
    run_logs.clear()
    capsys.readouterr()
    ti = run_alone(stage)
    said = capsys.readouterr()
    text = "".join([said.out, said.err, *run_logs])
    if ti.state in ("success", "skipped"):
        assert stage in NEEDS_NOTHING, ti.state
    else:
        assert ti.state in ("failed", "upstream_failed")
        assert ti.try_number <= tries + 1
        if ti.state == "failed":
            assert re.search(r"`[a-z_.]+` left no .*: clear `[a-z_.]+`", text), text[-3000:]
    assert len(paid(google)) == before
