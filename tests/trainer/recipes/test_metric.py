"""Recipe "Add a metric" of CONTRIBUTING: a leaderboard in a copied tree."""

import json
import subprocess
import sys

import pytest

from tests.recipes import tree as trees

PROGRAM = """
import json
import numpy as np
from trainer.metrics.regression import ValueOutcome
from trainer.comparison.scoreboard import Scoreboard, metric_named
from trellis_contracts.metrics import gate_only

labels = np.arange(40.0)
good = ValueOutcome(labels, labels + 1)
bad = ValueOutcome(labels, np.where(labels == 7, 20.0, labels))
board = Scoreboard({"good": good, "bad": bad}, metric_named("max_error", "regression"))
last = board.standings[1].metrics["max_error"]
print(json.dumps({
    "gate": gate_only("regression"),
    "order": [standing.name for standing in board.standings],
    "values": [standing.metrics["max_error"].value for standing in board.standings],
    "interval": [last.low, last.high],
}))
"""


def test_the_leaderboard_ranks_by_it(tmp_path):
    tree = trees.copy(tmp_path, ["trainer", "contracts"])
    trees.add_metric(tree)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tree,
        env=trees.environment(tree),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["gate"] == ["max_error"]
    assert found["order"] == ["good", "bad"]
    assert found["values"] == pytest.approx([1, 13])
    low, high = found["interval"]
    assert low <= 13 <= high
