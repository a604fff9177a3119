"""The neighbours experiment on a real Airflow: a program with NumPy alone trains, serves and
predicts all rows, in an image that knows nothing of Trellis.
"""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
import yaml

from testbed.local_run import ROOT, Demo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_it_is_tuned_served_and_predicts(demo):
    done = demo.run({"trials": 2, "parallel": 2}, "neighbours", timeout=1500)
    assert done.returncode == 0, done.stdout
    (run,) = demo.runs("neighbours")
    plan = read(run / "plan.json")
    made = {kind: len(demo.jobs(kind, "neighbours")) for kind in plan["jobs"]}
    assert made == plan["jobs"]
    board = read(run / "leaderboard/leaderboard.json")
    assert {c["name"]: c["status"] for c in board["contenders"]} == {
        "training/1": "ok",
        "baselines/bqml-logistic_reg": "ok",
    }
    assert board["promotion"]["promoted"]
    (model,) = demo.serving("neighbours")["models"]
    assert (model["traffic"], model["aliases"]) == (100, ["champion"])
    steps = read(run / "deployment.json")["steps"]
    # The first model of an endpoint has all requests from the start.
    assert [s["share"] for s in steps if s["step"].startswith("smoke")] == [100, 100]

    demo.operator.unpause("neighbours-predict")
    demo.operator.trigger("neighbours-predict", "all", {})
    assert demo.operator.wait("neighbours-predict", "all") == "success"
    (record,) = run.parents[1].glob("predictions/*/predictions.json")
    found = read(record)
    assert (found["instances"], found["predicted"], found["failed"]) == (569, 569, 0)


@pytest.fixture
def of_folds():
    """A local run of a copy of the checkout, in which the program learns in three folds."""
    # Airflow's log paths are long.
    folder = Path(tempfile.mkdtemp(prefix="trellis-"))
    ignored = shutil.ignore_patterns(".*", "__pycache__")
    copy = Path(shutil.copytree(ROOT, folder / "checkout", ignore=ignored))
    (copy / ".venv").symlink_to(ROOT / ".venv")
    file = copy / "dags/experiments/neighbours.yaml"
    changed = yaml.safe_load(file.read_text())
    changed["train"]["folds"] = 3
    changed["budget"] = "5 USD"
    changed["deploy"]["gate"]["tolerance"] = None
    del changed["predict"]
    file.write_text(yaml.safe_dump(changed))
    demo = Demo(folder / "local", root=copy)
    demo.local.mkdir()
    demo.replace_images([])
    yield demo
    demo.command("stop").communicate(timeout=180)
    shutil.rmtree(folder, ignore_errors=True)


def test_it_learns_in_every_fold_beside_bigquery_ml(of_folds):
    """The model to deploy learns once more, from all folds but one, and is served."""
    done = of_folds.run({"trials": 2, "parallel": 2}, "neighbours", timeout=1700)
    assert done.returncode == 0, done.stdout
    (run,) = of_folds.runs("neighbours")
    planned = read(run / "plan.json")["jobs"]
    assert {kind: len(of_folds.jobs(kind, "neighbours")) for kind in planned} == planned
    assert planned["tuning"] == 4
    board = read(run / "leaderboard/leaderboard.json")
    assert [choice["part"] for choice in board["folds"]["choices"]] == ["1-1", "1-2", "1-3"]
    assert board["folds"]["rows"] == 569
    assert {c["name"]: c["status"] for c in board["contenders"]} == {
        "training/1": "ok",
        "baselines/bqml-logistic_reg": "ok",
    }
    (model,) = of_folds.serving("neighbours")["models"]
    assert (model["traffic"], model["aliases"]) == (100, ["champion"])


def read(path):
    return json.loads(path.read_text())
