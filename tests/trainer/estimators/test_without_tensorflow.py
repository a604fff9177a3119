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


def run(python, *argv):
    """A program, to its end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, *argv],
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


# The programs of a run one after the other; Python and its libraries start once.
RUN = """
import importlib.util
import os
import sys
from trainer import compare, dataset_description, predictions, task, try_model
from trainer.comparison import scoring

assert importlib.util.find_spec("tensorflow") is importlib.util.find_spec("keras") is None
task._leave = lambda: None  # after a training it would end the process
run, dataset, file, model, *flags = sys.argv[1:]
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
"""


@pytest.fixture(scope="module")
def plan(python, columns, tmp_path_factory):
    """A run's folder with a training of the example, a trial, their comparison, and a try."""
    root = tmp_path_factory.mktemp("run")
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
    flags = arguments(address, task=task, metric="auc", epochs=1)
    said = run(python, "-c", RUN, plan.uri, address, str(root / "metric"), str(FOREST), *flags)
    assert says(said, "a later run scores it as the served model")
    assert says(said, "loaded", "new process", "predicts the same")
    return plan


def test_a_trial_reports_its_metric(plan):
    reported = plan.path.parent.parent / "metric"
    assert 0.5 < float(json.loads(reported.read_text())["auc"]) <= 1


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
