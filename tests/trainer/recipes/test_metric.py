"""Recipe "Add a metric" of CONTRIBUTING: leaderboard and validation in a copied tree."""

import json
import subprocess
import sys

import pytest

from tests.recipes import tree as trees

COLUMNS = """
import json
import numpy as np
from trainer.comparison.scoreboard import Scoreboard, metric_named
from trainer.metrics.regression import ValueOutcome
from trellis_contracts.metrics import gate_only, of_task

labels = np.arange(40.0)
good = ValueOutcome(labels, labels + 1)
bad = ValueOutcome(labels, np.where(labels == 7, 20.0, labels))
board = Scoreboard({"good": good, "bad": bad}, metric_named("max_error", "regression"))
last = board.standings[1].metrics
print(json.dumps({
    "gate": gate_only("regression"),
    "training": of_task("regression"),
    "order": [standing.name for standing in board.standings],
    "values": [standing.metrics["max_error"].value for standing in board.standings],
    "interval": last["max_error"].interval,
    "share": [last["within_one"].value, *last["within_one"].interval],
}))
"""

VALIDATION = """
import json
from types import SimpleNamespace
import numpy as np
import tensorflow as tf
from trainer.metrics import regression
from trainer.training import objectives
from trellis_contracts.dataset_features import Label, Statistics
from trellis_contracts.hyperparameters import Hyperparameters

label = Label(statistics=Statistics(9, 0, 100.0, 20.0, 0.0, 200.0, ()))
dataset = SimpleNamespace(family="regression", classes=(), label=label)
aim = objectives.build(dataset, Hyperparameters(), metric="within_one")
labels = np.array([100.0, 120.0, 80.0, 90.0], np.float32)
outputs = (labels + np.array([0.5, -3.0, 0.0, 40.0], np.float32) - 100)[:, None] / 20
batch = tf.constant(labels), tf.constant(outputs), tf.ones(4)
means = aim.means([float(tf.reduce_sum(one)) for one in aim.measures(*batch[:2])], 4)
print(json.dumps({
    "validation": aim.tallied(aim.tally(*batch).numpy(), means, 4),
    "test": regression.exact(labels, aim.answers(batch[1])["value"].numpy(), 20.0),
}))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a program in the tree with the metrics; returns what it prints."""
    tree = trees.copy(tmp_path_factory.mktemp("tree"), ["trainer", "contracts"])
    trees.add_metric(tree)

    def run(program):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tree,
            env=trees.environment(tree),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_the_leaderboard_ranks_by_it(run):
    found = run(COLUMNS)
    assert found["gate"] == ["max_error"]
    assert "within_one" in found["training"]
    assert "max_error" not in found["training"]
    assert found["order"] == ["good", "bad"]
    assert found["values"] == pytest.approx([1, 13])
    low, high = found["interval"]
    assert low <= 13 <= high
    value, low, high = found["share"]
    assert value == pytest.approx(39 / 40)
    assert low < value < high


def test_a_training_is_chosen_by_it(run):
    found = run(VALIDATION)
    assert found["validation"]["within_one"] == found["test"]["within_one"] == 0.5
    assert found["validation"]["r2"] == pytest.approx(found["test"]["r2"], abs=1e-5)
