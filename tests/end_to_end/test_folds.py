"""A forest and a Keras network in folds, on a real Airflow: each fold searches, trains and chooses
again, and every row is predicted once in each repeat, by a model that has not seen it.
"""

import json

import pytest
from pyarrow import parquet

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

FOLDS = ["1-1", "1-2", "1-3", "2-1", "2-2", "2-3"]


@pytest.fixture(scope="module")
def crossed(demo):
    done = demo.run({"trials": 2, "parallel": 2, "train_epochs": 8}, "few-rows", timeout=1700)
    assert done.returncode == 0, done.stdout
    (run,) = demo.runs("few-rows")
    return run


def test_each_fold_trains_both_and_chooses_one(demo, crossed):
    planned = read(crossed / "plan.json")["jobs"]
    assert {kind: len(demo.jobs(kind, "few-rows")) for kind in planned} == planned
    # Both models in each fold and for the model to deploy; the jobs `folds` and `compare`.
    assert planned["custom"] == 2 * (len(FOLDS) + 1) + 2
    board = read(crossed / "leaderboard/leaderboard.json")
    assert [choice["part"] for choice in board["folds"]["choices"]] == FOLDS
    for part in FOLDS:
        models = {read(file)["model"] for file in trainings(crossed / "folds" / part)}
        assert models == {"forest.py", "dense"}


def test_every_row_is_predicted_once_in_each_repeat(crossed):
    board = read(crossed / "leaderboard/leaderboard.json")
    (selected,) = [one["name"] for one in board["contenders"] if one.get("selected")]
    keys = parquet.read_table(crossed / "folds" / selected / "predictions.parquet")["key"]
    assert len(set(keys.to_pylist())) == len(keys) == 2 * board["folds"]["rows"] > 200


def test_the_model_to_deploy_has_no_score_of_its_own(crossed):
    deployed = [read(file) for file in trainings(crossed)]
    assert [one["test"] for one in deployed] == [None, None]
    page = (crossed / "leaderboard/report.html").read_text()
    assert 'id="folds"' in page
    assert "is that of this procedure" in page
    assert "are in one split" not in page


def trainings(folder):
    return sorted(folder.glob("training/*/metrics.json"))


def read(path):
    return json.loads(path.read_text())
