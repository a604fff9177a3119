"""The neighbours experiment on a real Airflow: a program with NumPy alone trains, serves and
predicts all rows, in an image that knows nothing of Trellis.
"""

import json

import pytest

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
    assert [s["share"] for s in steps if s["step"].startswith("smoke")] == [50, 100]

    demo.operator.unpause("neighbours-predict")
    demo.operator.trigger("neighbours-predict", "all", {})
    assert demo.operator.wait("neighbours-predict", "all") == "success"
    (record,) = demo.bucket.glob("neighbours/predictions/*/predictions.json")
    found = read(record)
    assert (found["instances"], found["predicted"], found["failed"]) == (569, 569, 0)


def read(path):
    return json.loads(path.read_text())
