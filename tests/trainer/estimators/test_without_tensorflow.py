"""The scikit-learn example where TensorFlow is not installed: every program of a run, in a process
of its own, in an environment that has neither TensorFlow nor Keras.
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

from testbed.trainings import ROOT, arguments, free_ports
from tests.trainer.conftest import RunFolder
from tests.trainer.raw_tables import write_with_source
from trainer import dataset_description, predictions
from trellis_contracts.dataset_features import NUMERIC

FOREST = ROOT / "dags/experiments/forest.py"
ROWS = 240

# Found first, as Python starts: an import of either fails as that of a package that is not there.
ABSENT = """
import importlib.abc
import sys


class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tensorflow", "keras"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The variables of a process without TensorFlow."""
    folder = tmp_path_factory.mktemp("absent")
    (folder / "sitecustomize.py").write_text(ABSENT)
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    for name in ("tensorflow", "keras"):
        tried = [sys.executable, "-c", f"import {name}"]
        done = subprocess.run(tried, env=variables, capture_output=True, text=True, check=False)
        assert done.stderr.strip().endswith(f"ModuleNotFoundError: No module named '{name}'")
    return variables


def run(environment, *argv):
    """A program of the trainer's, to its end."""
    command = [sys.executable, "-m", *argv]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def columns():
    return {name: np.random.default_rng(place).normal(size=ROWS) for place, name in enumerate("ab")}


@pytest.fixture(scope="module")
def plan(environment, columns, tmp_path_factory):
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
    run(environment, "trainer.task", *argv)
    fingerprint = dataset_description.load(address).fingerprint
    gate = {"require": {"auc": 0.8}, "margin": 0.0, "tolerance": None, "learned": True}
    deploy = {"gate": gate, "smoke": {"examples": 8, "latency": 1000}}
    configuration = {"task": task, "deploy": deploy}
    dataset = {"uri": f"{address}/", "fingerprint": fingerprint}
    plan.plan({"configuration": configuration, "dataset": dataset})
    return plan


def test_a_trial_reports_its_metric(environment, plan, tmp_path):
    address = plan.path.parent.parent / "datasets/d"
    flags = {"model": FOREST, "task": "binary_classification", "metric": "auc", "epochs": 1}
    argv = arguments(str(address), output=tmp_path / "trial", outputs="metrics", trees=10, **flags)
    file = tmp_path / "metric"
    trial = {"CLOUD_ML_TRIAL_ID": "1", "CLOUD_ML_HP_METRIC_FILE": str(file)}
    run(environment | trial, "trainer.task", *argv)
    assert 0.5 < float(json.loads(file.read_text())["auc"]) <= 1


def test_it_is_compared_and_passes_the_gate(environment, plan):
    run(environment, "trainer.compare", "--run", plan.uri, "--metric", "auc")
    board = json.loads((plan.path / "leaderboard/leaderboard.json").read_text())
    assert board["promotion"]["promoted"], board["promotion"]
    assert (plan.path / "leaderboard/challenger.json").exists()
    permuted = board["importance"]
    assert (permuted["of"], permuted["metric"], permuted["examples"]) == ("training/1", "auc", 50)
    # The label is the sign of their sum.
    assert {one["feature"] for one in permuted["features"]} == {"a", "b"}
    assert all(one["interval"][0] > 0 for one in permuted["features"])


def test_it_is_served_and_predicts_in_bulk(environment, plan, columns):
    """A request of a batch prediction's form is answered row by row, a bad one with its error."""
    (port,) = free_ports(1)
    variables = {"AIP_STORAGE_URI": f"{plan.path}/training/1/model", "AIP_HTTP_PORT": str(port)}
    command = [sys.executable, "-m", "trainer", "serve"]
    found = predictions.read(plan.path / "training/1/predictions.parquet")
    instances = [
        {name: float(values[int(key)]) for name, values in columns.items()} for key in found.keys
    ]
    bad = {"a": "none", "b": 1.0}
    with subprocess.Popen(command, env=environment | variables, cwd=ROOT) as server:
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


def test_trellis_try_fits_and_loads_it_in_a_new_process(environment):
    assert "predicts the same" in run(environment, "trainer", "try", str(FOREST))
