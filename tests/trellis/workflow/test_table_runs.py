"""Whole runs on a table: a real BigQuery and its models, with a stand-in for the trainer."""

import json

import pytest

from tests.airflow_side import clear_and_run, run_dag
from tests.trellis.workflow import platforms
from tests.wording import says
from trellis.workflow.assembly import training
from trellis.workflow.pricing import cost
from trellis.workflow.stages import bqml
from trellis.workflow.validation.file import with_changes

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
        CREATE TABLE {TABLE} PARTITION BY measured_on AS
        SELECT
          CONCAT('s', CAST(n AS STRING)) AS sample_id,
          MOD(n, 2) = 0 AS malignant,
          SIN(n) + MOD(n, 2) AS radius,
          IF(MOD(n, 3) = 0, 'early', 'late') AS stage,
          1 + MOD(n, 3) AS counts_for,
          DATE_ADD(DATE '2024-01-01', INTERVAL MOD(n, 4) DAY) AS measured_on
        FROM UNNEST(GENERATE_ARRAY(1, 400)) AS n
        """
    )
    return client


@pytest.fixture(scope="module")
def a_dag(client, breast_cancer, group):
    """Makes the demo's experiment on the table, without AutoML, under a name of its own."""

    def make(name, **changed):
        own = {"bucket": "table-runs", "registry": "example.com/stand-in"}
        changes = {
            ("source", "bigquery"): TABLE,
            ("source", "weight"): "counts_for",
            ("schedule",): "manual",
            ("until",): None,
            ("tune", "maximize"): "accuracy",
            ("tune", "trials"): 2,
            ("train", "top"): 1,
            ("baselines", "bqml"): ["logistic_reg", "boosted_tree_classifier"],
            ("baselines", "options"): {"logistic_reg": {"l2_reg": 1, "auto_class_weights": True}},
            ("baselines", "automl"): None,
            ("deploy",): None,
        }
        experiment = with_changes(breast_cancer, changes).model_copy(update={"name": name})
        return training.build(experiment, platforms.of_tests(group, **own | changed))

    return make


@pytest.fixture(scope="module")
def whole(a_dag):
    """A run without a logical date whose second baseline fails: its DAG, and the run."""

    def script(plan, platform, name, part=None):
        if name == "logistic_reg":
            return original(plan, platform, name)
        return "SELECT CAST('no model' AS INT64) AS x"

    original = bqml.script
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bqml, "script", script)
        dag = a_dag("whole-run")
        yield dag, run_dag(dag)


def states(run):
    return {ti.task_id: str(ti.state) for ti in run.get_task_instances()}


def newest_run(google, dag):
    runs = (google.buckets / "table-runs" / dag.dag_id / "runs").iterdir()
    return max(runs, key=lambda folder: folder.stat().st_mtime)


def read(path):
    return json.loads(path.read_text())


def made(client, dag):
    """The BigQuery jobs of a DAG's tasks, counted by task."""
    found = {}
    for job in client.list_jobs():
        if job.job_id.startswith(f"{dag.dag_id}_"):
            task = job.job_id.removeprefix(f"{dag.dag_id}_").rsplit("_", 2)[0]
            found[task] = found.get(task, 0) + 1
    return found


def test_a_run_without_a_logical_date_takes_all_rows(google, whole):
    dag, run = whole
    assert run.logical_date is None
    planned = read(newest_run(google, dag) / "plan.json")
    assert planned["data_interval"] == {"start": None, "end": None}
    assert (planned["dataset"]["partition"], planned["dataset"]["examples"]) == (None, 400)


def test_a_table_is_frozen_exported_and_learned_from(google, whole):
    dag, run = whole
    failed = {"bqml.boosted_tree_classifier"}
    assert states(run) == {t: "failed" if t in failed else "success" for t in dag.task_ids}
    folder = newest_run(google, dag)
    baseline = read(folder / "baselines/bqml-logistic_reg/baseline.json")
    assert (baseline["status"], baseline["reason"]) == ("succeeded", None)
    assert {entry["feature"] for entry in baseline["feature_importance"]} == {"radius", "stage"}
    assert 0.5 < baseline["evaluation"]["roc_auc"] <= 1
    assert list((folder / "baselines/bqml-logistic_reg/raw").glob("*.parquet"))

    (source,) = (google.buckets / "table-runs" / dag.dag_id).glob("datasets/*/source")
    columns = read(source / "columns.json")
    assert columns["source"]["rows"] == 400
    assert columns["features"] == [
        {"name": "radius", "column": "radius", "type": "FLOAT64", "kind": "numeric"},
        {"name": "stage", "column": "stage", "type": "STRING", "kind": "categorical"},
    ]
    assert list(source.glob("rows-*.parquet"))


def test_the_record_has_what_each_stage_has_cost(google, whole):
    """The rows are frozen and checked: two queries, each billed for 10 MiB at least."""
    dag, _ = whole
    (record,) = (google.buckets / "table-runs/_index" / dag.dag_id / "runs").iterdir()
    actual = read(record)["result"]["actual_usd"]
    jobs = {"export", "tune", "train", "compare"}
    # What baselines have cost is on the leaderboard, which the stand-in for the trainer writes.
    baselines = {"bqml-logistic_reg", "bqml-boosted_tree_classifier"}
    assert actual.keys() == jobs | baselines | {"snapshot"}
    assert all(actual[stage] > 0 for stage in jobs)
    assert actual["snapshot"] == pytest.approx(2 * cost.scan(0, None))


def test_a_baseline_that_fails_is_shown_as_failed(google, whole):
    dag, run = whole
    assert run.state == "success"
    board = read(newest_run(google, dag) / "leaderboard/leaderboard.json")
    (failed,) = [c for c in board["contenders"] if c["status"] == "failed"]
    assert failed["name"] == "baselines/bqml-boosted_tree_classifier"
    assert says(failed["reason"], "bqml.boosted_tree_classifier", "BigQuery says")


@pytest.mark.slow
def test_what_is_done_is_not_done_again(google, client, whole):
    dag, run = whole
    once = {"snapshot": 1, "check": 1, "extract": 1, "bqml-logistic_reg": 1}
    failed = "bqml-boosted_tree_classifier"
    assert made(client, dag) == once | {failed: 1}
    # Clearing costs what had failed.
    clear_and_run(dag, run)
    assert made(client, dag) == once | {failed: 2}
    # The next run finds the rows, and may do without baselines.
    second = run_dag(dag, bqml=False)
    assert second.state == "success"
    skipped = {task for task, state in states(second).items() if state == "skipped"}
    assert skipped == {
        "export",
        "bqml.logistic_reg",
        "bqml.boosted_tree_classifier",
        "baselines",
    }
    assert not (newest_run(google, dag) / "baselines").exists()
    assert made(client, dag) == once | {failed: 2}


def test_rows_that_cannot_be_learned_from_stop_the_run_early(google, client, a_dag):
    client.query_and_wait(
        f"CREATE TABLE table_runs.constant AS SELECT * REPLACE (TRUE AS malignant) FROM {TABLE}"
    )
    dag = a_dag("constant")
    days = {"from": "2024-01-01", "to": "2024-01-03"}
    run = run_dag(dag, source="table_runs.constant", **days)
    planned = read(newest_run(google, dag) / "plan.json")["dataset"]
    assert planned["source"] == "local-gcp.table_runs.constant"
    assert planned["partition"] == {"column": "measured_on", **days}
    found = states(run)
    stages = ("plan", "snapshot", "check", "baselines", "trained")
    done = {task: found.pop(task) for task in stages}
    # `trained` waits for all that happens before, and finds nothing.
    assert list(done.values()) == ["success", "success", "failed", "skipped", "failed"]
    assert set(found.values()) == {"upstream_failed"}
    assert not (newest_run(google, dag) / "baselines").exists()
    assert {ti.try_number for ti in run.get_task_instances()} <= {0, 1}


def test_a_run_that_is_refused_is_not_tried_again(a_dag, capfd):
    dag = a_dag("refused", bucket="no-such-bucket")
    run = run_dag(dag)
    said = "Refused, nothing was spent. There is no bucket gs://no-such-bucket (platform.yaml: buc"
    assert said in capfd.readouterr().out
    found = states(run)
    assert (found.pop("plan"), found.pop("baselines")) == ("failed", "skipped")
    assert found.pop("trained") == "failed"
    assert set(found.values()) == {"upstream_failed"}
    assert {ti.try_number for ti in run.get_task_instances()} <= {0, 1}
