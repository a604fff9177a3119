"""The scikit-learn example where TensorFlow is not installed: every program of a run, in an
environment that has neither TensorFlow nor Keras.
"""

import json
import os
import re
import subprocess
import sysconfig
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

import numpy as np
import pytest
import sklearn

from testbed.trainings import ROOT, arguments, free_ports
from tests.trainer.conftest import RunFolder
from tests.trainer.raw_tables import write_with_source
from tests.wording import says
from trainer import dataset_description, predictions
from trellis_contracts.dataset_features import NUMERIC

FOREST = ROOT / "dags/experiments/forest.py"
ROWS = 240


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Python of an environment that has all that this one has but TensorFlow and Keras."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    there = Path(sysconfig.get_path("purelib"))
    (packages,) = folder.glob("lib/python*/site-packages")
    for entry in there.iterdir():
        if not re.match(r"(tensorflow|keras)\b|tensorflow_cpu", entry.name):
            (packages / entry.name).symlink_to(entry)
    return folder / "bin/python"


@pytest.fixture(scope="module")
def columns():
    return {name: np.random.default_rng(place).normal(size=ROWS) for place, name in enumerate("ab")}


# The programs of a run one after the other, and the server; Python and its libraries start once.
RUN = """
import importlib.util
import os
import sys
from trainer import compare, dataset_description, predictions, serve, task, try_model
from trainer.comparison import bootstrap, scoring
from trainer.estimators import own_file, trial

assert importlib.util.find_spec("tensorflow") is importlib.util.find_spec("keras") is None
task._leave = lambda: None  # after a training it would end the process
draw = bootstrap.draw
bootstrap.draw = lambda n, resamples, *more: draw(n, min(resamples, 100), *more)
trial._in_a_new_process = lambda folder, batch: own_file.load(folder / "model").predict(batch)
run, dataset, file, model, port, *flags = sys.argv[1:]
flags.append(f"--model={model}")
training = f"{run}training/1"
assert task.main([*flags, "--trees=30", f"--output={training}"]) == 0
os.environ |= {"CLOUD_ML_TRIAL_ID": "1", "CLOUD_ML_HP_METRIC_FILE": file}
assert task.main([*flags, "--trees=10", f"--output={run}tuning/1", "--outputs=metrics"]) == 0
assert compare.main(["--run", run, "--metric", "auc"]) == 0

found = scoring.score(f"{training}/model", dataset, dataset_description.load(dataset))
predicted = predictions.read(f"{training}/predictions.parquet")
order, expected = found.keys.argsort(), predicted.keys.argsort()
assert (found.probabilities[order] == predicted.probabilities[expected]).all()
print("a later run scores it as the served model")
assert try_model.main([model]) == 0
sys.exit(serve.main([f"--model={training}/model", f"--port={port}"]))
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def plan(root, columns):
    """A run's folder before the run."""
    labels = (columns["a"] + columns["b"] > 0).astype(int)
    files = {"train": [140], "validation": [50], "test": [50]}
    table = {name: (NUMERIC, values.tolist()) for name, values in columns.items()}
    task = "binary_classification"
    address = write_with_source(root / "datasets/d", table, labels, files, task=task)
    plan = RunFolder(root / "other", [0, 1], ["0", "1"])
    plan.path = root / "runs/r"
    fingerprint = dataset_description.load(address).fingerprint
    gate = {"require": {"auc": 0.8}, "margin": 0.0, "tolerance": None, "learned": True}
    deploy = {"gate": gate, "smoke": {"examples": 8, "latency": 1000}}
    configuration = {"task": task, "deploy": deploy}
    dataset = {"uri": f"{address}/", "fingerprint": fingerprint}
    plan.plan({"configuration": configuration, "dataset": dataset})
    return plan


@pytest.fixture(scope="module", autouse=True)
def server(python, root, plan):
    """The address of the server, after a training of the example, a trial, their comparison, a
    later run's scores, and a try.
    """
    (port,) = free_ports(1)
    address = json.loads((plan.path / "plan.json").read_text())["dataset"]["uri"].rstrip("/")
    flags = arguments(address, task="binary_classification", metric="auc", epochs=1)
    files = [address, str(root / "metric"), str(FOREST)]
    log = root / "log"
    with (
        log.open("w") as said,
        subprocess.Popen(
            [python, "-c", RUN, plan.uri, *files, str(port), *flags],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            stdout=said,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def test_a_trial_reports_its_metric(root):
    assert 0.5 < float(json.loads((root / "metric").read_text())["auc"]) <= 1


def test_a_later_run_scores_it_and_a_try_takes_it(root):
    said = (root / "log").read_text()
    assert says(said, "a later run scores it as the served model")
    assert says(said, "loaded", "predicts the same")


def test_it_is_compared_and_passes_the_gate(plan):
    board = json.loads((plan.path / "leaderboard/leaderboard.json").read_text())
    assert board["promotion"]["promoted"], board["promotion"]
    assert (plan.path / "leaderboard/challenger.json").exists()
    versions = board["provenance"]["versions"]
    assert versions["scikit-learn"] == sklearn.__version__
    assert versions.keys().isdisjoint(["tensorflow", "keras"])
    permuted = board["importance"]
    assert (permuted["of"], permuted["metric"], permuted["examples"]) == ("training/1", "auc", 50)
    # The label is the sign of their sum.
    assert {one["feature"] for one in permuted["features"]} == {"a", "b"}
    assert all(one["interval"][0] > 0 for one in permuted["features"])


def test_it_is_served_and_predicts_in_bulk(plan, server, columns):
    """A request of a batch prediction's form is answered row by row, a bad one with its error."""
    found = predictions.read(plan.path / "training/1/predictions.parquet")
    instances = [
        {name: float(values[int(key)]) for name, values in columns.items()} for key in found.keys
    ]
    bad = {"a": "none", "b": 1.0}
    body = {"instances": [*instances, bad], "parameters": {"each": True}}
    kind = {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"{server}/predict", json.dumps(body).encode(), kind)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        *answers, refused = json.load(answer)["predictions"]
    own = [[*one["probabilities"].values()] for one in answers]
    np.testing.assert_allclose(own, found.probabilities, atol=1e-7)
    assert "a" in refused["error"]


def wait_for(address, process, log):
    """Until the health route answers."""
    for _ in range(2400):
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(address, timeout=10):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise TimeoutError(address)
