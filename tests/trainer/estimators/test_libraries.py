"""Scores of scikit-learn, XGBoost and PyTorch are those of the library's own call on the same
split, and a training of one or two workers that is killed ends as one that ran through. Each in the
environment of its image, which is made if it is not there.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from testbed.tables import mixed_rows, write_table
from testbed.trainings import MODULE, ROOT, Job, arguments, without_seconds, write_dataset
from tests.trainer.estimators.library_calls import EPOCHS, SEED
from trainer import predictions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

FILES = {"train": [400], "validation": [100], "test": [100]}
FLAGS = {
    "sklearn": {
        "model": ROOT / "dags/experiments/gradient_boosting.py",
        "task": "binary_classification",
        "metric": "auc",
    },
    "xgboost": {
        "model": ROOT / "dags/experiments/boosted_trees.py",
        "task": "binary_classification",
        "metric": "auc",
    },
    "torch": {
        "model": ROOT / "dags/experiments/torch_digits.py",
        "task": "multiclass_classification",
        "metric": "accuracy",
        "filters": 8,
    },
}


@pytest.fixture(scope="module")
def python():
    """A function: name of a library -> the Python of its image's environment."""

    def python(name):
        if name == "sklearn":  # ours has it
            return sys.executable
        subprocess.run(["make", "--silent", "image", f"NAME={name}"], cwd=ROOT, check=True)
        return str(ROOT / f".venv/images/{name}/bin/python")

    return python


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """A function: name of the library -> the address of a dataset."""
    folder = tmp_path_factory.mktemp("datasets")

    def dataset(name):
        if (folder / name).exists():
            return str(folder / name)
        if name in ("sklearn", "xgboost"):
            columns, labels = mixed_rows(600)
            return write_table(folder / name, columns, labels, files=FILES)
        digits = load_digits()
        images = (digits.images[:600, :, :, None] * 15).astype(np.uint8)
        return write_dataset(folder / name, images, digits.target[:600], files=FILES)

    return dataset


@pytest.fixture
def job(tmp_path, python, dataset, monkeypatch):
    """A function: name of the library, of the replicas -> the job, which is ended in the end."""
    # Threads of several processes on the same cores wait for one another.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    jobs = []

    def job(name, *names, **flags):
        folder = tmp_path / f"job{len(jobs)}"
        folder.mkdir()
        flags = {"epochs": EPOCHS, "seed": SEED, **FLAGS[name], **flags}
        argv = [*MODULE, *arguments(dataset(name), **flags)]
        jobs.append(Job(folder, names, argv, python(name)))
        return jobs[-1]

    yield job
    for one in jobs:
        one.end()


def output(job):
    return predictions.read(job.folder / "output/predictions.parquet")


@pytest.mark.parametrize("name", FLAGS)
def test_scores_are_those_of_the_librarys_own_call(job, python, dataset, name):
    trained = job(name, "chief:0")
    trained.start()
    assert trained.wait() == {"chief:0": 0}, trained.log("chief:0")
    called = subprocess.run(
        [python(name), "-m", "tests.trainer.estimators.library_calls", name, dataset(name)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    expected = json.loads(called.stdout.splitlines()[-1])
    found = output(trained)
    assert set(found.keys) == set(expected)
    own = np.array([expected[key] for key in found.keys])
    np.testing.assert_allclose(found.probabilities, own, atol=1e-5)
    assert np.mean(own.argmax(1) == found.labels) > 0.6


# Trees are made in milliseconds: enough of them that it is killed in between. Of all rows, as
# XGBoost draws others where it goes on.
LONG = {
    "sklearn": {"epochs": 20, "patience": 1000},
    "torch": {},
    "xgboost": {"epochs": 80, "patience": 1000, "rows": 1.0},
}


@pytest.mark.parametrize("name", ["xgboost", "torch"])
def test_two_workers_go_on_after_one_was_killed(job, name):
    through, killed = (job(name, "chief:0", "worker:0", **LONG[name]) for _ in range(2))
    through.start()
    assert set(through.wait().values()) == {0}, through.log("chief:0")
    killed.start()
    killed.wait_for("chief:0", "epoch 3/")
    killed.kill("worker:0")
    killed.kill("chief:0")
    assert set(killed.wait().values()) == {-9}
    assert not (killed.folder / "output/metrics.json").exists()
    killed.start()
    assert set(killed.wait().values()) == {0}, killed.log("chief:0")
    epochs = LONG[name].get("epochs", EPOCHS)
    assert [row["epoch"] for row in killed.metrics["history"]] == [*range(1, epochs + 1)]
    # It went on, and made no epoch of the first ones again.
    assert killed.log("chief:0").count("epoch 1/") == 1
    assert without_seconds(killed.metrics)["history"] == without_seconds(through.metrics)["history"]
    np.testing.assert_array_equal(output(killed).probabilities, output(through).probabilities)


@pytest.mark.parametrize("name", ["sklearn", "xgboost"])
def test_a_killed_training_of_trees_goes_on(job, name):
    through, killed = (job(name, "chief:0", **LONG[name]) for _ in range(2))
    through.start()
    assert through.wait() == {"chief:0": 0}, through.log("chief:0")
    killed.start()
    killed.wait_for("chief:0", "epoch 3/")
    killed.kill("chief:0")
    assert killed.wait() == {"chief:0": -9}
    killed.start()
    assert killed.wait() == {"chief:0": 0}, killed.log("chief:0")
    assert killed.log("chief:0").count("epoch 1/") == 1
    np.testing.assert_array_equal(output(killed).probabilities, output(through).probabilities)
