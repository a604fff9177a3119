"""A training's challenger.json, registered, deployed and asked, by real processes throughout."""

import functools
import json
from pathlib import Path

import pytest

from testbed.local_run import ROOT
from tests.wording import says

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def challenge(local_gcp):
    """A function: name of a dataset -> challenger.json, and what its endpoint answered."""

    @functools.cache
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
    assert says(found["refused"], "parameters.explain.method", "expected class")


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "mixed"])
def test_an_endpoint_explains_what_it_answers(challenge, name):
    challenger, found = challenge(name)
    by_predict, by_raw_predict = found["explained"][::2], found["explained"][1::2]
    assert len(by_predict) == len(by_raw_predict) == 3
    for explained, raw in zip(by_predict, by_raw_predict, strict=True):
        assert explained["sum"] == pytest.approx(raw["sum"], abs=1e-4)
    for explained in found["explained"]:
        assert explained["score"] == pytest.approx(explained["number"], abs=1e-4)
        assert explained.get("class") == explained["label"]
        assert off(explained) < 1e-4
        assert set(explained["attributions"]) == set(challenger["examples"][0]["instance"])
        assert len(explained.get("pixels", {})) == (1 if name == "digits" else 0)
        for pixels in explained.get("pixels", {}).values():
            assert pixels["shape"] == [8, 8]
            assert off(pixels) == pytest.approx(pixels["approximation_error"], abs=1e-5)
            assert off(pixels) < 0.05


def off(explained):
    """By how much the attributions do not add up to what they explain."""
    return abs(explained["sum"] - (explained["score"] - explained["baseline_score"]))
