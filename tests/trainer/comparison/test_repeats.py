"""The selected training with other seeds."""

import json
import shutil
import statistics

import numpy as np
import pytest

from tests.wording import says
from trainer import compare

pytestmark = pytest.mark.usefixtures("undrawn", "few_resamples")

LABELS = np.arange(60) % 3


@pytest.fixture
def run(run_folder, classifier):
    """Two trainings: the first is better on validation, the second on the test split."""
    run = run_folder(LABELS, 3)
    run.plan({"configuration": {"seed": 4, "train": {"top": 2, "epochs": 25, "seeds": 3}}})
    run.contender(1, classifier(LABELS, 3, skill=2, seed=1), validation={"accuracy": 1, "loss": 0})
    run.contender(2, classifier(LABELS, 3, skill=9, seed=1))
    return run


@pytest.fixture
def repeat(run, classifier):
    """Trains training/1 again with another seed."""

    def repeat(seed, skill, **changed):
        run.contender(99, classifier(LABELS, 3, skill=skill, seed=seed), seed=seed, **changed)
        target = run.path / "training/1/seeds" / str(seed)
        shutil.move(run.path / "training/99", target)

    return repeat


def board(run):
    compare.compare(run.uri, "accuracy")
    return json.loads((run.path / "leaderboard/leaderboard.json").read_text())


def test_mean_and_deviation_of_the_selected_training(run, repeat):
    repeat(5, 2)
    repeat(6, 3)
    found = board(run)
    repeats = found["repeats"]
    assert (repeats["of"], repeats["seeds"], repeats["failed"]) == ("training/1", [4, 5, 6], [])
    accuracy = repeats["metrics"]["accuracy"]
    own = next(c for c in found["contenders"] if c["name"] == "training/1")
    assert accuracy["values"][0] == own["metrics"]["accuracy"]["value"]
    assert len(set(accuracy["values"])) == 3
    assert accuracy["mean"] == pytest.approx(statistics.fmean(accuracy["values"]), abs=1e-6)
    assert accuracy["sd"] == pytest.approx(statistics.stdev(accuracy["values"]), abs=1e-6)
    mean, sd = f"{accuracy['mean']:.4f}", f"{accuracy['sd']:.4f}"
    assert any(says(note, "3 training seeds", mean, sd) for note in found["notes"])
    # No repeat competes.
    assert [c["name"] for c in found["contenders"]] == ["training/1", "training/2"]
    report = (run.path / "leaderboard/report.html").read_text()
    assert "Other seeds" in report


def test_a_seed_that_failed_is_reported(run, repeat):
    repeat(6, 3)
    found = board(run)
    assert found["repeats"]["seeds"] == [4, 6]
    (failed,) = found["repeats"]["failed"]
    assert failed["seed"] == 5
    assert "the training wrote nothing" in failed["reason"]
    assert any("1 of 3 seeds failed." in note for note in found["notes"])


def test_predictions_for_other_examples_are_no_score(run, repeat, classifier):
    repeat(5, 2)
    repeat(6, 2, keys=[f"other-{i}" for i in range(60)])
    (failed,) = board(run)["repeats"]["failed"]
    assert failed["seed"] == 6


def test_without_further_seeds_there_are_no_repeats(run_folder, classifier):
    run = run_folder(LABELS, 3)
    run.contender(1, classifier(LABELS, 3, skill=2, seed=1))
    assert "repeats" not in board(run)
