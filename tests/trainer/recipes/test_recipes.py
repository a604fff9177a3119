"""CONTRIBUTING's recipes of a model, a hyperparameter, a metric and a task, all of them done in one
copied tree: what Python then does there.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.recipes import tree as trees
from tests.trainer.conftest import RunFolder
from tests.trainer.exporting.tables.helpers import feature, write_table
from tests.trainer.training.conftest import digits_arrays, few_digits
from tests.wording import says
from trellis_contracts import documents

__all__ = ["digits_arrays", "few_digits"]

pytestmark = pytest.mark.slow

PARTS = ("trainer", "contracts", "testbed")
UNITS, PIXELS, CLASSES = 8, 64, 10
ROWS = 400

# What all of the programs need, which then leave `told`. TensorFlow is imported once for all.
START = """
import contextlib, io, json, sys
from pathlib import Path
import numpy as np
import tensorflow as tf
from testbed.trainings import arguments
from trainer.estimators import run
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

folder, digits = Path(sys.argv[1]), sys.argv[2]


def train(dataset, output, **flags):
    settings = parse_flags(arguments(dataset, output=output, **flags), "")
    assert run.train(settings, checked_dataset(settings)) == 0
    return json.loads((output / "metrics.json").read_text())


def exported(dataset):
    from trainer import export

    flags = {"source": dataset / "source/columns.json", "output": dataset, "fingerprint": "f"}
    return export.main([f"--{name}={value}" for name, value in flags.items()] + ["--shards=2"])
"""

MODEL = """
flags = {"model": "maxout", "pieces": 3, "epochs": 1, "outputs": "metrics"}
told = train(digits, folder / "maxout", **flags)
"""

LEADERBOARD = """
from trainer.comparison.scoreboard import Scoreboard, metric_named
from trainer.metrics.regression import ValueOutcome
from trellis_contracts.metrics import gate_only, of_task

labels = np.arange(40.0)
good = ValueOutcome(labels, labels + 1)
bad = ValueOutcome(labels, np.where(labels == 7, 20.0, labels))
board = Scoreboard({"good": good, "bad": bad}, metric_named("max_error", "regression"))
last = board.standings[1].metrics
told = {
    "gate": gate_only("regression"),
    "training": of_task("regression"),
    "order": [standing.name for standing in board.standings],
    "values": [standing.metrics["max_error"].value for standing in board.standings],
    "interval": last["max_error"].interval,
    "share": [last["within_one"].value, *last["within_one"].interval],
}
"""

VALIDATION = """
from types import SimpleNamespace
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
told = {
    "validation": aim.tallied(aim.tally(*batch).numpy(), means, 4),
    "test": regression.exact(labels, aim.answers(batch[1])["value"].numpy(), 20.0),
}
"""

COUNTS = """
from trainer import compare
from trainer.serving.model import Model

dataset, output = folder / "dataset", folder / "runs/r/training/1"
assert exported(dataset) == 0
flags = {"model": "dense", "task": "count", "metric": "poisson_deviance", "epochs": 12}
flags |= {"batch_size": 32, "learning_rate": 0.02, "units": 8}
metrics = train(str(dataset), output, **flags)
assert compare.main(["--run", f"{folder}/runs/r/", "--metric", "poisson_deviance"]) == 0
model = Model.load(output / "model")
body = json.dumps({"instances": [{"dose": 1.0}, {"dose": -1.0}]}).encode()
told = {
    "metrics": metrics["test"],
    "board": json.loads((folder / "runs/r/leaderboard/leaderboard.json").read_text()),
    "answers": model.predict(model.rows.read(body).instances),
}
"""

NO_COUNTS = """
with contextlib.redirect_stderr(io.StringIO()) as said:
    status = exported(folder / "no counts")
told = {"status": status, "said": said.getvalue()}
"""

PROGRAMS = {
    "model": MODEL,
    "leaderboard": LEADERBOARD,
    "validation": VALIDATION,
    "counts": COUNTS,
    "no counts": NO_COUNTS,
}


def write_counts(folder, labels, dose):
    keys = [f"row {number}" for number in range(len(labels))]
    columns = {"key": keys, "label": np.asarray(labels, float), "dose": dose}
    write_table(folder / "source", columns, [feature("dose")], task="count")


def write_files(folder):
    """The rows of both exports, and the plan of the run over the one that succeeds."""
    random = np.random.default_rng(0)
    dose = random.normal(size=ROWS)
    write_counts(folder / "dataset", random.poisson(np.exp(0.5 + 0.8 * dose)), dose)
    wrong = np.r_[np.arange(ROWS - 2) % 4, -1, 2.5]
    write_counts(folder / "no counts", wrong, np.zeros(ROWS))
    plan = RunFolder(folder / "other", [0, 1], ["a", "b"])
    plan.path = folder / "runs/r"
    plan.path.mkdir(parents=True)
    gate = {"require": {"poisson_deviance": 1.5}, "margin": 0.0, "beat": "baselines"}
    gate |= {"tolerance": None, "learned": True}
    deploy = {"gate": gate, "smoke": {"examples": 8, "latency": 1000}}
    dataset = {"uri": f"{folder}/dataset/", "fingerprint": "f"}
    plan.plan({"configuration": {"task": "count", "deploy": deploy}, "dataset": dataset})


@pytest.fixture(scope="module")
def told(few_digits, tmp_path_factory):
    """What each of the programs tells in the tree, by its name."""
    tree = trees.copy(tmp_path_factory.mktemp("tree"), PARTS)
    for add in (trees.add_model, trees.add_hyperparameter, trees.add_metric, trees.add_task):
        add(tree)
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    program = START + "found = {}\n"
    for name, text in PROGRAMS.items():
        program += f"{text}\nfound[{name!r}] = told\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nprint(json.dumps(found))", folder, few_digits],
        cwd=tree,
        env=trees.environment(tree),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_model_trains_with_the_hyperparameter(told):
    metrics = told["model"]
    documents.check("metrics", metrics, "metrics.json")
    assert metrics["model"] == "maxout"
    assert metrics["hyperparameters"]["pieces"] == 3
    piece = PIXELS * UNITS + UNITS
    assert metrics["parameters"] == 3 * piece + UNITS * CLASSES + CLASSES


def test_the_leaderboard_ranks_by_the_metric(told):
    found = told["leaderboard"]
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


def test_a_training_is_chosen_by_the_metric(told):
    found = told["validation"]
    assert found["validation"]["within_one"] == found["test"]["within_one"] == 0.5
    assert found["validation"]["r2"] == pytest.approx(found["test"]["r2"], abs=1e-5)


def test_a_count_is_exported_learned_scored_and_served(told):
    found, board = told["counts"], told["counts"]["board"]
    (contender,) = board["contenders"]
    metric = contender["metrics"]["poisson_deviance"]
    # 1.1 is that of the true rates, 2.1 that of the mean.
    assert metric["interval"][0] < metric["value"] < 1.5
    assert metric["value"] == pytest.approx(found["metrics"]["poisson_deviance"])
    assert (board["task"], board["promotion"]["promoted"]) == ("count", True)
    high, low = (answer["count"] for answer in found["answers"])
    assert high > 2 * low > 0


def test_what_is_no_count_is_refused_by_the_export(told):
    assert told["no counts"]["status"] == 1
    assert says(told["no counts"]["said"], "is no count", "2 rows")


def test_two_files_of_the_tree_are_changed_for_the_task(tmp_path):
    """The entry and the list of names; all else are the task's own modules."""
    tree = trees.copy(tmp_path, PARTS)
    trees.add_task(tree)
    changed = []
    for file in (path for part in PARTS for path in (tree / part).rglob("*")):
        before = trees.ROOT / file.relative_to(tree)
        if before.is_file() and before.read_bytes() != file.read_bytes():
            changed.append(str(file.relative_to(tree)))
    contract = "contracts/trellis_contracts"
    names = ("schemas/task.schema.json", "tasks.py")
    assert sorted(changed) == [f"{contract}/{name}" for name in names]
