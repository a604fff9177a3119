"""The breast-cancer experiment: a BigQuery table, two kinds of baselines, past partitions."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SMALL = {"trials": 1, "parallel": 1, "top": 1, "tune_epochs": 1, "train_epochs": 4}
DAYS = tuple(f"2024-01-0{day}" for day in range(1, 6))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def first_run(demo):
    done = demo.run(SMALL, "breast-cancer")
    assert done.returncode == 0, done.stdout
    return demo.runs("breast-cancer")[0]


def test_tensorflow_bqml_and_automl_stand_side_by_side(first_run):
    board = read(first_run / "leaderboard" / "leaderboard.json")
    assert {c["name"]: c["kind"] for c in board["contenders"]} == {
        "training/1": "training",
        "baselines/bqml-logistic_reg": "bqml",
        "baselines/bqml-boosted_tree_classifier": "bqml",
        "baselines/automl": "automl",
    }
    assert {c["status"] for c in board["contenders"]} == {"ok"}
    for contender in board["contenders"]:
        assert contender["metrics"]["auc"]["value"] > 0.9, contender["name"]


def test_on_so_few_rows_no_network_beats_all_baselines_and_the_run_is_green(first_run, demo):
    decision = read(first_run / "leaderboard" / "leaderboard.json")["promotion"]
    assert not decision["promoted"]
    failed = [check["check"] for check in decision["checks"] if not check["passed"]]
    assert any("baselines/" in check for check in failed)
    assert demo.serving("breast-cancer") is None


def test_exactly_the_planned_jobs_were_made(first_run, demo):
    planned = read(first_run / "plan.json")["jobs"]
    assert {kind: len(demo.jobs(kind, "breast-cancer")) for kind in planned} == planned


def test_all_rows_of_the_table_are_in_the_dataset(first_run):
    examples = read(first_run / "leaderboard" / "leaderboard.json")["dataset"]["examples"]
    assert sum(examples.values()) == 569


def test_the_baselines_predict_what_scikit_learn_and_xgboost_do_on_the_same_split(first_run, demo):
    dataset = demo.bucket / read(first_run / "plan.json")["dataset"]["uri"].split("/", 3)[3]
    program = Path(__file__).with_name("baselines_directly.py")
    command = [ROOT / ".venv/local_gcp/bin/python", program, dataset, first_run]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    trees, logistic = found["bqml-boosted_tree_classifier"], found["bqml-logistic_reg"]
    assert trees["largest"] < 1e-6
    # BigQuery's default stops after 20 steps, and does not penalise large weights.
    assert logistic["mean"] < 0.02
    assert logistic["largest"] < 0.15
    for figures in found.values():
        assert figures["auc"] == pytest.approx(figures["expected_auc"], abs=0.005)


@pytest.mark.slow
def test_a_baseline_can_be_switched_off(first_run, demo):
    done = demo.run(SMALL | {"automl": False}, "breast-cancer")
    assert done.returncode == 0, done.stdout
    board = read(demo.runs("breast-cancer")[-1] / "leaderboard" / "leaderboard.json")
    assert "automl" not in {contender["kind"] for contender in board["contenders"]}


@pytest.mark.slow
def test_a_backfill_runs_each_day_on_its_own_rows_and_a_second_one_spends_nothing(first_run, demo):
    """Two days at a time; the scheduler is killed while they are trained on."""
    before = {job["name"] for job in demo.jobs()}
    create_backfill(demo)
    wait_for(lambda: trainings(demo, before))
    os.kill(demo.supervised_pid("airflow:scheduler"), signal.SIGKILL)
    assert most_at_once(demo) == 2

    runs = {read(run / "plan.json")["data_interval"]["start"]: run for run in backfilled(demo)}
    assert [start[:10] for start in sorted(runs)] == list(DAYS)
    plans = [read(run / "plan.json") for run in runs.values()]
    boards = [read(run / "leaderboard" / "leaderboard.json") for run in runs.values()]
    assert len({plan["dataset"]["fingerprint"] for plan in plans}) == len(DAYS)
    assert sum(sum(b["dataset"]["examples"].values()) for b in boards) == 569
    assert {board["promotion"] for board in boards} == {None}
    made = Counter(job["kind"] for job in demo.jobs() if job["name"] not in before)
    planned = sum((Counter(plan["jobs"]) for plan in plans), Counter())
    assert {kind: made[kind] for kind in planned} == planned
    jobs = sorted(job["name"] for job in demo.jobs())

    create_backfill(demo)
    most_at_once(demo)
    assert len(backfilled(demo)) == len(DAYS)
    assert sorted(job["name"] for job in demo.jobs()) == jobs


def create_backfill(demo):
    """`airflow backfill create` over the days of the table, by the command line."""
    arguments = (
        *("backfill", "create", "--dag-id", "breast-cancer", "--max-active-runs", "2"),
        *("--from-date", DAYS[0], "--to-date", DAYS[-1], "--dag-run-conf", json.dumps(SMALL)),
    )
    for attempts_left in reversed(range(20)):
        try:
            demo.airflow(*arguments)
            break
        except subprocess.CalledProcessError:
            # The scheduler takes half a minute to notice that the backfill before has ended.
            if not attempts_left:
                raise
            time.sleep(5)


def most_at_once(demo):
    """Return how many runs of the backfill went on at the same time, when all have ended well."""
    most, deadline = 0, time.monotonic() + 1200
    while True:
        states = Counter(run["state"] for run in demo.dag_runs("breast-cancer"))
        most = max(most, states["running"])
        if not states["running"] + states["queued"]:
            break
        assert time.monotonic() < deadline, states
        time.sleep(3)
    assert set(states) == {"success"}
    return most


def trainings(demo, before):
    """The full trainings that run, and are not of an earlier run."""
    return [
        job
        for job in demo.jobs("custom", "breast-cancer training/")
        if job["name"] not in before and job["state"] == "JOB_STATE_RUNNING"
    ]


def wait_for(look, seconds=600):
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, f"not seen within {seconds} s"
        time.sleep(0.5)


def backfilled(demo):
    return [run for run in demo.runs("breast-cancer") if run.name.startswith("backfill")]


def read(path):
    return json.loads(path.read_text())
