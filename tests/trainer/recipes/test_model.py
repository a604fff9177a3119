"""Recipes "Add a model" and "Add a hyperparameter" of CONTRIBUTING: a training in a copied tree."""

import json
import subprocess
import sys

import pytest

from testbed.trainings import arguments
from tests.recipes import tree as trees
from tests.trainer.training.conftest import digits_arrays, few_digits
from trellis_contracts import documents

__all__ = ["digits_arrays", "few_digits"]

UNITS, PIXELS, CLASSES = 8, 64, 10


@pytest.fixture
def train(tmp_path, few_digits):
    """Trains the model for an epoch, with flags; returns its metrics.json."""
    tree = trees.copy(tmp_path / "tree", ["trainer", "contracts"])
    trees.add_model(tree)
    trees.add_hyperparameter(tree)

    def train(**flags):
        flags = {"model": "maxout", "epochs": 1, "outputs": "metrics", **flags}
        output = tmp_path / "output"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "trainer.task", f"--output={output}"),
                *arguments(few_digits, **flags),
            ],
            cwd=tree,
            env=trees.environment(tree),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads((output / "metrics.json").read_text())

    return train


def test_the_model_trains_with_the_hyperparameter(train):
    metrics = train(pieces=3)
    documents.check("metrics", metrics, "metrics.json")
    assert metrics["model"] == "maxout"
    assert metrics["hyperparameters"]["pieces"] == 3
    piece = PIXELS * UNITS + UNITS
    assert metrics["parameters"] == 3 * piece + UNITS * CLASSES + CLASSES
