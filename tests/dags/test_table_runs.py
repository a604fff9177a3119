"""Whole runs on a table: a real BigQuery and its models, with a stand-in for the trainer."""

import json

import pytest

from research import workflow
from research.platform import Platform
from research.stages import bqml
from tests.airflow_side import clear_and_run, run_dag

TABLE = "table_runs.cells"


@pytest.fixture(scope="module")
def client(google):
    """BigQuery with a table of 400 rows, and a bucket."""
    from google.cloud import bigquery

    (google.buckets / "table-runs").mkdir(exist_ok=True)
    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("table_runs", exists_ok=True)
    client.query_and_wait(
        f"""
        CREATE TABLE {TABLE} AS
        SELECT
          CONCAT('s', CAST(n AS STRING)) AS sample_id,
          MOD(n, 2) = 0 AS malignant,
          SIN(n) + MOD(n, 2) AS radius,
          IF(MOD(n, 3) = 0, 'early', 'late') AS stage
        FROM UNNEST(GENERATE_ARRAY(1, 400)) AS n
        """
    )
    return client


@pytest.fixture
def a_dag(client, breast_cancer, group, request):
    """The demo's experiment on the table, without AutoML, under the test's own name."""
    values = group.model_dump(mode="json", exclude_none=True)
    platform = Platform.model_validate(
        values | {"bucket": "table-runs", "registry": "example.com/stand-in", "retry_seconds": 1}
    )
    changes = {
        ("source", "bigquery"): TABLE,
        ("source", "partition"): None,
        ("schedule",): "manual",
        ("until",): None,
        ("tune", "maximize"): "accuracy",
        ("tune", "trials"): 2,
        ("train", "top"): 1,
        ("baselines", "bqml"): ["logistic_reg"],
        ("baselines", "automl"): None,
    }
    name = request.node.name.replace("_", "-")[5:45].strip("-")
    experiment = breast_cancer.changed(changes).model_copy(update={"name": name})
    return workflow.build(experiment, platform)


def states(run):
    return {ti.task_id: str(ti.state) for ti in run.get_task_instances()}


def newest_run(google, dag):
    runs = (google.buckets / "table-runs" / dag.dag_id / "runs").iterdir()
    return max(runs, key=lambda folder: folder.stat().st_mtime)


def made(client, dag):
    """The BigQuery jobs of a DAG's tasks, counted by task."""
    found = {}
    for job in client.list_jobs():
        if job.job_id.startswith(f"{dag.dag_id}_"):
            task = job.job_id.removeprefix(f"{dag.dag_id}_").rsplit("_", 2)[0]
            found[task] = found.get(task, 0) + 1
    return found


def test_a_table_is_frozen_exported_and_learned_from_once(google, client, a_dag):
    run = run_dag(a_dag)
    assert states(run) == dict.fromkeys(a_dag.task_ids, "success")
    folder = newest_run(google, a_dag)
    baseline = json.loads((folder / "baselines/bqml-logistic_reg/baseline.json").read_text())
    assert (baseline["status"], baseline["reason"]) == ("succeeded", None)
    assert {entry["feature"] for entry in baseline["feature_importance"]} == {"radius", "stage"}
    assert 0.5 < baseline["evaluation"]["roc_auc"] <= 1
    assert list((folder / "baselines/bqml-logistic_reg/raw").glob("*.parquet"))

    (source,) = (google.buckets / "table-runs" / a_dag.dag_id).glob("datasets/*/source")
    columns = json.loads((source / "columns.json").read_text())
    assert columns["source"]["rows"] == 400
    assert columns["features"] == [
        {"name": "radius", "column": "radius", "type": "FLOAT64", "kind": "numeric"},
        {"name": "stage", "column": "stage", "type": "STRING", "kind": "categorical"},
    ]
    assert list(source.glob("rows-*.parquet"))

    once = {"snapshot": 1, "check": 1, "extract": 1, "bqml-logistic_reg": 1}
    assert made(client, a_dag) == once
    # Clearing what is done costs nothing.
    clear_and_run(a_dag, run)
    assert made(client, a_dag) == once
    # The next run finds the rows, and may do without baselines.
    second = run_dag(a_dag, bqml=False)
    assert second.state == "success"
    skipped = {task for task, state in states(second).items() if state == "skipped"}
    assert skipped == {"export", "bqml.logistic_reg", "baselines"}
    assert not (newest_run(google, a_dag) / "baselines").exists()
    assert made(client, a_dag) == once


def test_a_baseline_that_fails_is_shown_as_failed(google, client, a_dag, monkeypatch):
    monkeypatch.setattr(bqml, "script", lambda *_: "SELECT CAST('no model' AS INT64) AS x")
    run = run_dag(a_dag)
    assert run.state == "success"
    assert states(run)["bqml.logistic_reg"] == "failed"
    board = json.loads((newest_run(google, a_dag) / "leaderboard/leaderboard.json").read_text())
    failed = next(c for c in board["contenders"] if c["name"] == "baselines/bqml-logistic_reg")
    assert failed["status"] == "failed"
    assert "no model" in failed["reason"]


def test_rows_that_cannot_be_learned_from_stop_the_run_early(google, client, a_dag):
    client.query_and_wait(
        f"CREATE TABLE table_runs.constant AS SELECT * REPLACE (TRUE AS malignant) FROM {TABLE}"
    )
    run = run_dag(a_dag, source="table_runs.constant")
    found = states(run)
    assert (found["snapshot"], found["check"]) == ("success", "failed")
    assert {found["extract"], found["bqml.logistic_reg"], found["tune"]} == {"upstream_failed"}
