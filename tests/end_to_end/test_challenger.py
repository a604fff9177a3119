"""A training's challenger.json, registered, deployed and asked, by real processes throughout."""

import json
from pathlib import Path

import pytest

from tests.end_to_end.local_run import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def challenge(local_gcp):
    """A function: name of a dataset -> challenger.json, and what its endpoint answered."""

    def challenge(name):
        folder = f"gs://challenges/{name}"
        program = HERE / "train_challenger.py"
        local_gcp.run(program, name, folder, environment="trainer", PYTHONPATH=str(ROOT))
        path = local_gcp.buckets / f"challenges/{name}/runs/1/leaderboard/challenger.json"
        out = local_gcp.run(HERE / "ask_challenger.py", str(path), environment="airflow")
        found = json.loads(out.splitlines()[-1])
        print(f"{name}: largest difference {found['difference']:.2g}")
        return json.loads(path.read_text()), found

    return challenge


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "mixed"])
def test_an_endpoint_answers_what_was_predicted_offline(challenge, name):
    challenger, found = challenge(name)
    assert len(challenger["examples"]) == 20
    assert found["labels"]
    # A regression's values are 100 times as large as probabilities.
    assert found["difference"] < (1e-4 if name == "mixed" else 1e-5)
    assert bool(found["explained"]) == (name != "digits")
    for explained in found["explained"]:
        moved = explained["prediction"] - explained["baseline"]
        assert explained["sum"] == pytest.approx(moved, abs=1e-4)
        assert explained["likeliest"]
        columns = set(challenger["examples"][0]["instance"]) - {"pulse"}
        assert set(explained["attributions"]) == columns
