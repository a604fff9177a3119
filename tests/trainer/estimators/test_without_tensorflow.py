"""The scikit-learn example where TensorFlow is not installed: every program of a run, in a process
of its own, in an environment that has neither TensorFlow nor Keras.
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
    for name in ("tensorflow", "keras"):
        tried = [folder / "bin/python", "-c", f"import {name}"]
        done = subprocess.run(tried, capture_output=True, text=True, check=False)
        assert done.stderr.strip().endswith(f"ModuleNotFoundError: No module named '{name}'")
    return folder / "bin/python"


def run(python, *argv, **variables):
    """A program of the trainer's, to its end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run(
        [python, "-m", *argv],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def columns():
    return {name: np.random.default_rng(place).normal(size=ROWS) for place, name in enumerate("ab")}


@pytest.fixture(scope="module")
def plan(python, columns, tmp_path_factory):
    """A run's folder with a training of the example."""
    root = tmp_path_factory.mktemp("run")
    labels = (columns["a"] + columns["b"] > 0).astype(int)
    files = {"train": [140], "validation": [50], "test": [50]}
    table = {name: (NUMERIC, values.tolist()) for name, values in columns.items()}
    task = "binary_classification"
    address = write_with_source(root / "datasets/d", table, labels, files, task=task)
    plan = RunFolder(root / "other", [0, 1], ["0", "1"])
    plan.path = root / "runs/r"
    flags = {"model": FOREST, "task": task, "metric": "auc", "epochs": 1}
    argv = arguments(address, output=plan.path / "training/1", trees=30, **flags)
    run(python, "trainer.task", *argv)
    fingerprint = dataset_description.load(address).fingerprint
    gate = {"require": {"auc": 0.8}, "margin": 0.0, "tolerance": None, "learned": True}
    deploy = {"gate": gate, "smoke": {"examples": 8, "latency": 1000}}
    configuration = {"task": task, "deploy": deploy}
    dataset = {"uri": f"{address}/", "fingerprint": fingerprint}
    plan.plan({"configuration": configuration, "dataset": dataset})
    return plan


def test_a_trial_reports_its_metric(python, plan, tmp_path):
    address = plan.path.parent.parent / "datasets/d"
    flags = {"model": FOREST, "task": "binary_classification", "metric": "auc", "epochs": 1}
    argv = arguments(str(address), output=tmp_path / "trial", outputs="metrics", trees=10, **flags)
    file = tmp_path / "metric"
    trial = {"CLOUD_ML_TRIAL_ID": "1", "CLOUD_ML_HP_METRIC_FILE": str(file)}
    run(python, "trainer.task", *argv, **trial)
    assert 0.5 < float(json.loads(file.read_text())["auc"]) <= 1


def test_it_is_compared_and_passes_the_gate(python, plan):
    run(python, "trainer.compare", "--run", plan.uri, "--metric", "auc")
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


SCORED = """
import sys
from trainer import dataset_description, predictions
from trainer.comparison import scoring

training, dataset = sys.argv[1:]
found = scoring.score(f"{training}/model", dataset, dataset_description.load(dataset))
predicted = predictions.read(f"{training}/predictions.parquet")
order, expected = found.keys.argsort(), predicted.keys.argsort()
assert (found.probabilities[order] == predicted.probabilities[expected]).all()
"""


def test_a_later_run_scores_it_as_the_served_model(python, plan):
    training, dataset = plan.path / "training/1", plan.path.parent.parent / "datasets/d"
    command = [python, "-c", SCORED, str(training), str(dataset)]
    subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, check=True)


def test_it_is_served_and_predicts_in_bulk(python, plan, columns):
    """A request of a batch prediction's form is answered row by row, a bad one with its error."""
    (port,) = free_ports(1)
    variables = {"AIP_STORAGE_URI": f"{plan.path}/training/1/model", "AIP_HTTP_PORT": str(port)}
    variables |= {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [python, "-m", "trainer", "serve"]
    found = predictions.read(plan.path / "training/1/predictions.parquet")
    instances = [
        {name: float(values[int(key)]) for name, values in columns.items()} for key in found.keys
    ]
    bad = {"a": "none", "b": 1.0}
    with subprocess.Popen(command, env=variables, cwd=ROOT) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/health", server)
            body = {"instances": [*instances, bad], "parameters": {"each": True}}
            sent = json.dumps(body).encode()
            kind = {"Content-Type": "application/json"}
            asked = urllib.request.Request(f"http://127.0.0.1:{port}/predict", sent, kind)
            with urllib.request.urlopen(asked, timeout=60) as answer:
                *answers, refused = json.load(answer)["predictions"]
        finally:
            server.terminate()
    own = [[*one["probabilities"].values()] for one in answers]
    np.testing.assert_allclose(own, found.probabilities, atol=1e-7)
    assert "a" in refused["error"]


def wait_for(address, process):
    """Until the health route answers."""
    for _ in range(600):
        assert process.poll() is None
        try:
            with urllib.request.urlopen(address, timeout=10):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise TimeoutError(address)


def test_trellis_try_fits_and_loads_it_in_a_new_process(python):
    assert "predicts the same" in run(python, "trainer", "try", str(FOREST))
