"""The digits experiment, small, from an empty folder to a leaderboard."""

import json

import pytest

SMALL = {"trials": 2, "parallel": 2, "top": 1, "tune_epochs": 1, "train_epochs": 4}

pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module")
def first_run(demo):
    done = demo.run(SMALL)
    assert done.returncode == 0, done.stdout
    return done


def test_the_terminal_tells_the_stages_and_ends_with_the_leaderboard(first_run):
    lines = first_run.stdout
    for stage in ("plan", "export", "tune", "choose", "train", "compare"):
        assert f"] {stage}" in lines
    assert "trial 1: " in lines
    assert "training/1" in lines
    assert "Airflow UI" in lines


def test_exactly_the_planned_jobs_were_made(first_run, demo):
    plan = json.loads((demo.runs()[0] / "plan.json").read_text())
    made = {kind: len(demo.jobs(kind, "digits")) for kind in plan["jobs"]}
    assert made == plan["jobs"]


def test_both_workers_took_part_with_equal_weights(first_run, demo):
    metrics = json.loads((demo.runs()[0] / "training" / "1" / "metrics.json").read_text())
    chief, worker = metrics["replicas"]["chief:0"], metrics["replicas"]["worker:0"]
    assert chief["steps"] == worker["steps"] > 0
    assert chief["weights_sha256"] == worker["weights_sha256"] == metrics["weights_sha256"]


def test_the_report_is_one_file(first_run, demo):
    report = (demo.runs()[0] / "leaderboard" / "report.html").read_text()
    assert "<svg" in report
    assert 'src="http' not in report


@pytest.mark.slow
def test_a_second_run_reuses_the_dataset(first_run, demo):
    done = demo.run(SMALL)
    assert done.returncode == 0, done.stdout
    plans = [json.loads((run / "plan.json").read_text()) for run in demo.runs()]
    assert [plan["dataset"]["exists"] for plan in plans] == [False, True]
    assert plans[0]["dataset"]["uri"] == plans[1]["dataset"]["uri"]
    assert len(demo.jobs("dataflow", "digits")) == 1


def test_a_bad_parameter_is_refused_before_anything_starts(first_run, demo):
    before = len(demo.jobs())
    done = demo.run({"trials": 0})
    assert done.returncode == 1
    assert "trials" in done.stdout
    assert len(demo.jobs()) == before
