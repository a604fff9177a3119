"""Training with trainer.task beside Keras' `fit` or beside itself: examples/s of the later epochs,
validation included.

All are processes of their own with the same model, optimizer, batches and decoded examples in
memory. Keras' is `python -m benchmarks.speed.keras_fit`; `eager` has it run without tf.function.
`compiled` has ours beside itself with XLA. `devices` divides the machine into two devices of one
process; its peer is two processes that talk over the loopback interface, as two machines would over
a network.
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
from testbed.trainings import MODULE, Job, arguments

BATCH, EPOCHS = 32, 4


def images(folder, side, channels, count):
    return make_dataset(folder / "d", side, channels, count, "png"), "multiclass_classification"


def rows(folder, count):
    random = np.random.default_rng(0)
    columns = {f"x{i}": ("numeric", random.normal(size=count).tolist()) for i in range(30)}
    tenth = count // 10
    files = {"train": [2 * tenth] * 4, "validation": [tenth], "test": [tenth]}
    labels = [n % 2 for n in range(count)]
    return write_table(folder / "d", columns, labels, files=files), "binary_classification"


def given(data, model, **flags):
    """The arguments of such a training."""
    address, task = data
    flags = {"model": model, "task": task, "epochs": EPOCHS, "batch_size": BATCH, **flags}
    flags |= {"outputs": "metrics", "plateau_patience": 0, "early_stopping_patience": 0}
    return arguments(address, **flags)


def rate(metrics):
    """Examples a second of the epochs after the first, of all replicas, by metrics.json."""
    examples = sum(process["examples"] for process in metrics["replicas"].values())
    seconds = statistics.median(row["seconds"] for row in metrics["history"][1:])
    return examples / len(metrics["history"]) / seconds


def trained(scratch, arguments):
    """The rate of one process with all cores."""
    output = Path(mkdtemp(dir=scratch))
    command = [sys.executable, *MODULE, *arguments, f"--output={output}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return rate(json.loads((output / "metrics.json").read_text()))


def shared(scratch, names, arguments, figure=rate, **options):
    """`figure` of the metrics of processes with a thread for each device's computation."""
    job = Job(Path(mkdtemp(dir=scratch)), names, [*MODULE, *arguments], **options)
    try:
        job.start()
        if any(job.wait().values()):
            raise SystemExit("\n".join(job.log(name) for name in names))
        return figure(job.metrics)
    finally:
        job.end()


@contextmanager
def beside_keras(scratch, model, data, *options):
    def peer():
        command = [sys.executable, "-m", "benchmarks.speed.keras_fit", data[0], model, *options]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return float(done.stdout.splitlines()[-1])

    yield {"ours": lambda: trained(scratch, given(data, model)), "peer": peer}


def dense(scratch):
    return beside_keras(scratch, "dense", rows(scratch, 20_000))


def convolutional(scratch):
    return beside_keras(scratch, "convolutional", images(scratch, 8, 1, 8_000))


def residual(scratch):
    return beside_keras(scratch, "residual", rows(scratch, 20_000))


def eager(scratch):
    return beside_keras(scratch, "dense", rows(scratch, 5_000), "--eagerly")


@contextmanager
def compiled(scratch):
    data = rows(scratch, 20_000)
    yield {
        "ours": lambda: trained(scratch, given(data, "residual")),
        "peer": lambda: trained(scratch, given(data, "residual", jit_compile=True)),
    }


@contextmanager
def devices(scratch):
    own = given(images(scratch, 8, 1, 8_000), "convolutional")
    yield {
        "ours": lambda: shared(scratch, ("chief:0",), own, accelerators=2),
        "peer": lambda: shared(scratch, ("chief:0", "worker:0"), own),
        "limit": lambda: shared(scratch, ("chief:0",), own),
    }
