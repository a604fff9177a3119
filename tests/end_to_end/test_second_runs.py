"""Effects of a further run on a served model: a worse one is refused, a better one takes over."""

import json

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

WORSE = {"trials": 1, "parallel": 1, "top": 1, "tune_epochs": 1, "train_epochs": 1}
BETTER = {"trials": 2, "parallel": 2, "top": 1, "tune_epochs": 1, "train_epochs": 20}


def test_a_worse_model_is_refused_and_the_run_is_green(served_run, demo):
    before, versions = demo.serving(), demo.versions()
    done = demo.run(WORSE)
    assert done.returncode == 0, done.stdout
    board = read(demo.runs()[-1] / "leaderboard" / "leaderboard.json")
    decision = board["promotion"]
    assert not decision["promoted"]
    assert f"Promotion     not promoted: {decision['reason']}" in done.stdout
    assert "served" in {contender["name"] for contender in board["contenders"]}
    assert (demo.serving(), demo.versions()) == (before, versions)


def test_a_better_model_takes_over_step_by_step(served_run, demo):
    (old,) = [model["version"] for model in demo.serving()["models"]]
    with demo.watched() as watch:
        done = demo.run(BETTER)
    assert done.returncode == 0, done.stdout
    (new,) = demo.serving()["models"]
    assert (new["traffic"], new["aliases"]) == (100, ["champion"])
    assert watch.shares(new["version"]) == [0, 10, 50, 100]
    assert watch.shares(old) == [100, 90, 50, 0]
    assert watch.wrong == []
    aliases = {version["version"]: version["aliases"] for version in demo.versions()}
    assert aliases[old] == ["previous"]
    record = read(demo.runs()[-1] / "deployment.json")
    tested = [step for step in record["steps"] if step["step"].startswith("smoke")]
    assert [step["share"] for step in tested] == [10, 50, 100]
    assert all(step["largest_difference"] <= 1e-4 for step in tested)


def read(path):
    return json.loads(path.read_text())
