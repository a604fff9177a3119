"""The digits experiment, small, from an empty folder to a model that answers."""

import ast
import json

import pytest

from testbed.local_run import ROOT, SMALL
from tests.end_to_end import printed

pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module")
def first_run(demo):
    done = demo.run(SMALL)
    assert done.returncode == 0, done.stdout
    return done


def test_the_terminal_tells_the_stages_and_ends_with_the_leaderboard(first_run):
    lines = first_run.stdout
    of_training = ("plan", "export", "tune", "choose", "train", "compare")
    for stage in (*of_training, "promote", "deploy.register", "deploy.champion"):
        assert f"] digits  {stage}" in lines
    assert "trial 1: " in lines
    assert "training/1" in lines
    assert "Airflow UI" in lines


def test_exactly_the_planned_jobs_were_made(first_run, demo):
    plan = read(demo.runs()[0] / "plan.json")
    made = {kind: len(demo.jobs(kind, "digits")) for kind in plan["jobs"]}
    assert made == plan["jobs"]


def test_both_workers_took_part_with_equal_weights(first_run, demo):
    metrics = read(demo.runs()[0] / "training" / "1" / "metrics.json")
    chief, worker = metrics["replicas"]["chief:0"], metrics["replicas"]["worker:0"]
    assert chief["steps"] == worker["steps"] > 0
    assert chief["weights_sha256"] == worker["weights_sha256"] == metrics["weights_sha256"]


def test_the_report_is_one_file(first_run, demo):
    report = (demo.runs()[0] / "leaderboard" / "report.html").read_text()
    assert "<svg" in report
    assert "The plan allowed, USD" in report
    assert 'src="http' not in report


def test_the_winner_is_served(first_run, demo):
    board = read(demo.runs()[0] / "leaderboard" / "leaderboard.json")
    assert board["promotion"]["promoted"]
    (model,) = demo.serving()["models"]
    assert model["traffic"] == 100
    assert "champion" in model["aliases"]
    assert model["artifact_uri"].rstrip("/").endswith(f"{demo.runs()[0].name}/training/1/model")


def test_the_endpoint_answers_what_was_predicted_by_the_printed_lines(first_run, demo):
    examples = read(demo.runs()[0] / "leaderboard" / "challenger.json")["examples"]
    sent = read(demo.local / "requests" / "digits.json")["instances"]
    by_curl = json.loads(printed.pasted(printed.command(first_run.stdout), ROOT))["predictions"]
    by_python = printed.pasted(printed.snippet(first_run.stdout), ROOT).splitlines()
    for answers in (by_curl, list(map(ast.literal_eval, by_python))):
        for answer, instance in zip(answers, sent, strict=True):
            (offline,) = [e["prediction"] for e in examples if e["instance"] == instance]
            assert answer["label"] == offline["label"]
            assert answer["probabilities"] == pytest.approx(offline["probabilities"], abs=1e-4)
    asked = printed.pasted(printed.explanation(first_run.stdout), ROOT)
    (explained,) = json.loads(asked)["predictions"]
    assert explained["probabilities"] == pytest.approx(by_curl[0]["probabilities"], abs=1e-4)
    assert explained["explanation"]["class"] == explained["label"]
    assert set(explained["explanation"]["attributions"]) == {"image"}
    pixels = explained["explanation"]["pixels"]["image"]
    assert {"b64", "scale"} <= set(pixels["attributions"])


@pytest.mark.slow
def test_a_second_run_reuses_the_dataset(first_run, demo):
    done = demo.run(SMALL)
    assert done.returncode == 0, done.stdout
    plans = [read(run / "plan.json") for run in demo.runs()]
    assert [plan["dataset"]["exists"] for plan in plans] == [False, True]
    assert plans[0]["dataset"]["uri"] == plans[1]["dataset"]["uri"]
    assert len(demo.jobs("dataflow", "digits")) == 1


def test_a_bad_parameter_is_refused_before_anything_starts(first_run, demo):
    before = len(demo.jobs())
    done = demo.run({"trials": 0})
    assert done.returncode == 1
    assert "trials" in done.stdout
    assert len(demo.jobs()) == before


def read(path):
    return json.loads(path.read_text())
