"""Whole runs of the DAG that go wrong: in a storm, in the deployment, in trials and trainings."""

import collections
import json

import pytest

from tests.airflow_side import run_dag
from tests.trellis.workflow.whole_runs import a_dag, folder, jobs, said, states
from tests.wording import says

__all__ = ["a_dag", "folder"]


@pytest.fixture
def storm(google):
    """Every service is slow, refuses requests, and executes some without an answer."""
    google.command("chaos", "--503", "5%", "--429", "5%", "--lost", "2%", "--latency", "100")
    yield
    google.command("chaos", "--off")


@pytest.mark.slow
def test_a_run_in_a_storm_serves_its_model_and_submits_nothing_twice(google, a_dag, folder, storm):
    dag = a_dag(deploy={"gate": {"require": {"accuracy": 1e-9}}, "canary": [100]})
    run = run_dag(dag)
    assert run.state == "success", states(run)
    assert says(said(run), "training/1", "deployed: projects/")
    planned = json.loads((folder(dag) / "plan.json").read_text())["jobs"]
    made = collections.Counter(job["kind"] for job in jobs(google, dag))
    assert {kind: made[kind] for kind in planned} == planned


@pytest.mark.slow
def test_a_run_whose_deployment_fails_is_red(google, a_dag, folder):
    dag = a_dag(seed=4, deploy={"gate": {"require": {"accuracy": 1e-9}}, "canary": [100]})
    run = run_dag(dag)
    assert run.state == "failed"
    found = states(run)
    assert (found["deploy.smoke_100"], found["deploy.retreat"]) == ("failed", "success")
    assert (found["settled"], found["result"]) == ("success", "failed")
    record = json.loads((folder(dag) / "deployment.json").read_text())
    assert record["state"] == "retreated"
    assert record["reason"].startswith("smoke_100: Train/serve skew")


def test_a_run_with_a_failed_training_has_a_leaderboard_and_fails(google, a_dag, folder):
    dag = a_dag(seed=1)
    run = run_dag(dag)
    found = states(run)
    assert run.state == "failed"
    assert (found["train 0"], found["train 1"]) == ("success", "failed")
    assert (found["compare"], found["result"]) == ("success", "failed")
    board = json.loads((folder(dag) / "leaderboard/leaderboard.json").read_text())
    assert [c["status"] for c in board["contenders"]] == ["ok", "failed"]
    index = google.buckets / "runs-tests/_index" / dag.dag_id / "runs"
    record = json.loads(next(index.iterdir()).read_text())
    assert "is incomplete: training/2 failed" in record["result"]["failure"]


@pytest.mark.slow
def test_fewer_trials_than_wanted_are_trained(google, a_dag, folder, capfd):
    dag = a_dag(seed=2, parallel=1)
    run = run_dag(dag)
    assert run.state == "success"
    trials = json.loads((folder(dag) / "trials.json").read_text())
    assert [chosen["trial"] for chosen in trials["chosen"]] == ["1"]
    assert [t["state"] for t in trials["trials"]] == ["SUCCEEDED", "INFEASIBLE", "INFEASIBLE"]
    assert says(capfd.readouterr().out, "1 trial succeeded", "1 instead of 2")


@pytest.mark.slow
def test_without_a_trial_nothing_is_trained(google, a_dag):
    dag = a_dag(seed=3)
    run = run_dag(dag)
    assert run.state == "failed"
    assert states(run)["tune"] == "failed"
    assert {j["kind"] for j in jobs(google, dag)} == {"dataflow", "tuning"}
    index = google.buckets / "runs-tests/_index" / dag.dag_id / "runs"
    record = json.loads(next(index.iterdir()).read_text())
    assert (record["result"], record["failure"]["task"]) == (None, "tune")
    so_far = record["failure"]["so_far_usd"]
    assert so_far["export"] > 0
    assert so_far["tune"] > 0
    assert so_far["train"] == 0
