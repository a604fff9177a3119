"""Training with trainer.task beside Keras' `fit`: examples/s of the later epochs, validation
included.

Both are processes of their own with the same model, optimizer, batches and decoded examples in
memory. The peer is `python -m benchmarks.speed.keras_fit`; `eager` has it run without tf.function.
"""

import json
import statistics
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from benchmarks.datasets import make_dataset
from testbed.tables import write_table

BATCH, EPOCHS = 32, 4


def _images(folder, side, channels, count):
    return make_dataset(folder / "d", side, channels, count, "png"), "multiclass_classification"


def _rows(folder, count):
    random = np.random.default_rng(0)
    columns = {f"x{i}": ("numeric", random.normal(size=count).tolist()) for i in range(30)}
    tenth = count // 10
    files = {"train": [2 * tenth] * 4, "validation": [tenth], "test": [tenth]}
    labels = [n % 2 for n in range(count)]
    return write_table(folder / "d", columns, labels, files=files), "binary_classification"


@contextmanager
def _candidates(scratch, model, data, *options):
    address, task = data

    def ours():
        output = mkdtemp(dir=scratch)
        flags = {"dataset": address, "model": model, "task": task, "output": output}
        flags |= {"outputs": "metrics", "epochs": EPOCHS, "batch_size": BATCH}
        flags |= {"plateau_patience": 0, "early_stopping_patience": 0}
        command = [sys.executable, "-m", "trainer.task"]
        command += [f"--{name}={value}" for name, value in flags.items()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        metrics = json.loads(Path(output, "metrics.json").read_text())
        (replica,) = metrics["replicas"].values()
        seconds = [row["seconds"] for row in metrics["history"][1:]]
        return replica["examples"] / len(metrics["history"]) / statistics.median(seconds)

    def peer():
        command = [sys.executable, "-m", "benchmarks.speed.keras_fit", address, model, *options]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return float(done.stdout.splitlines()[-1])

    yield {"ours": ours, "peer": peer}


def dense(scratch):
    return _candidates(scratch, "dense", _rows(scratch, 20_000))


def convolutional(scratch):
    return _candidates(scratch, "convolutional", _images(scratch, 8, 1, 8_000))


def residual(scratch):
    return _candidates(scratch, "residual", _rows(scratch, 20_000))


def eager(scratch):
    return _candidates(scratch, "dense", _rows(scratch, 5_000), "--eagerly")
