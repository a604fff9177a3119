"""Recipe "Add a task" of CONTRIBUTING: counts are exported, learned, scored and served in a copied
tree.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.recipes import tree as trees
from tests.trainer.conftest import RunFolder
from tests.trainer.exporting.tables.helpers import feature, write_table
from tests.wording import says

ROWS = 400
PARTS = ("trainer", "contracts", "testbed")

PROGRAM = """
import json, sys
from pathlib import Path
from testbed.trainings import arguments
from trainer import compare, export
from trainer.estimators import run
from trainer.serving.model import Model
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

folder = Path(sys.argv[1])
dataset = folder / "dataset"
flags = {"source": dataset / "source/columns.json", "output": dataset, "fingerprint": "f"}
if status := export.main([f"--{name}={value}" for name, value in flags.items()] + ["--shards=2"]):
    sys.exit(status)
output = folder / "runs/r/training/1"
asked = {"model": "dense", "task": "count", "metric": "poisson_deviance", "epochs": 12}
asked |= {"batch_size": 32, "learning_rate": 0.02, "units": 8}
settings = parse_flags(arguments(str(dataset), output=output, **asked), "")
assert run.train(settings, checked_dataset(settings)) == 0
assert compare.main(["--run", f"{folder}/runs/r/", "--metric", "poisson_deviance"]) == 0
model = Model.load(output / "model")
body = json.dumps({"instances": [{"dose": 1.0}, {"dose": -1.0}]}).encode()
answers = model.predict(model.rows.read(body).instances)
print(json.dumps({
    "metrics": json.loads((output / "metrics.json").read_text())["test"],
    "board": json.loads((folder / "runs/r/leaderboard/leaderboard.json").read_text()),
    "answers": answers,
}))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    tree = trees.copy(tmp_path_factory.mktemp("tree"), PARTS)
    trees.add_task(tree)
    return tree


def run(tree, folder, labels, dose):
    """Export, train, compare and serve; what the program left."""
    keys = [f"row {number}" for number in range(len(labels))]
    columns = {"key": keys, "label": np.asarray(labels, float), "dose": dose}
    write_table(folder / "dataset/source", columns, [feature("dose")], task="count")
    plan = RunFolder(folder / "other", [0, 1], ["a", "b"])
    plan.path = folder / "runs/r"
    plan.path.mkdir(parents=True)
    gate = {"require": {"poisson_deviance": 1.5}, "margin": 0.0, "beat": "baselines"}
    gate |= {"tolerance": None, "learned": True}
    deploy = {"gate": gate, "smoke": {"examples": 8, "latency": 1000}}
    dataset = {"uri": f"{folder}/dataset/", "fingerprint": "f"}
    plan.plan({"configuration": {"task": "count", "deploy": deploy}, "dataset": dataset})
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, folder],
        cwd=tree,
        env=trees.environment(tree),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_count_is_exported_learned_scored_and_served(tree, tmp_path):
    random = np.random.default_rng(0)
    dose = random.normal(size=ROWS)
    done = run(tree, tmp_path, random.poisson(np.exp(0.5 + 0.8 * dose)), dose)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    board = found["board"]
    (contender,) = board["contenders"]
    metric = contender["metrics"]["poisson_deviance"]
    # 1.1 is that of the true rates, 2.1 that of the mean.
    assert metric["interval"][0] < metric["value"] < 1.5
    assert metric["value"] == pytest.approx(found["metrics"]["poisson_deviance"])
    assert (board["task"], board["promotion"]["promoted"]) == ("count", True)
    high, low = (answer["count"] for answer in found["answers"])
    assert high > 2 * low > 0


def test_two_files_of_the_tree_are_changed(tree):
    """The entry and the list of names; all else are the task's own modules."""
    changed = []
    for file in (path for part in PARTS for path in (tree / part).rglob("*")):
        before = trees.ROOT / file.relative_to(tree)
        if not before.is_file() or file.suffix == ".pyc":
            continue
        if before.read_bytes() != file.read_bytes():
            changed.append(str(file.relative_to(tree)))
    contract = "contracts/trellis_contracts"
    names = ("schemas/task.schema.json", "tasks.py")
    assert sorted(changed) == [f"{contract}/{name}" for name in names]


def test_what_is_no_count_is_refused_by_the_export(tree, tmp_path):
    labels = np.r_[np.arange(ROWS - 2) % 4, -1, 2.5]
    done = run(tree, tmp_path, labels, np.zeros(ROWS))
    assert done.returncode != 0
    assert says(done.stderr, "is no count", "2 rows")
