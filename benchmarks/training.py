"""Speed of training on this machine: the input pipeline, then whole steps. About two minutes.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/training.py

Input: examples a second out of the pipeline, wall time with all cores, for the first epoch (read,
parse, decode) and for later ones, whether the decoded images are kept in memory or not. Training:
the convolutional model with its defaults, one thread per process; two workers on one machine share
its cores and memory, so their ratio is a lower bound of what two machines give.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cv2
import numpy as np
import tensorflow as tf

from tests.trainer.training.helpers import free_ports, write_dataset
from trainer import dataset_description
from trainer.hyperparameters import Hyperparameters
from trainer.training import input_pipeline as input_module
from trainer.training.input_pipeline import Input

EPOCHS = 4
ONE_PROCESS = SimpleNamespace(cluster=range(1), local_replicas=1, replicas=1)


def make_dataset(folder, side, channels, count, encoding):
    """Smooth random images: they encode to about the size that drawings and photographs have."""
    random = np.random.default_rng(0)
    coarse = random.integers(0, 256, (count, max(2, side // 8), max(2, side // 8), channels))
    images = np.stack(
        [
            cv2.resize(image.astype(np.uint8), (side, side)).reshape(side, side, channels)
            for image in coarse
        ]
    )
    quarter, tenth = count // 5, count // 10
    files = {"train": [quarter] * 4, "validation": [tenth], "test": [tenth]}
    labels = random.integers(0, 10, count)
    return write_dataset(folder, images, labels, files=files, encoding=encoding)


def epoch_rates(address):
    """Examples a second in each epoch."""
    dataset = dataset_description.load(address)
    data = Input(address, dataset, ONE_PROCESS, Hyperparameters(batch_size=64), 0, EPOCHS)
    batches = iter(data.train_batches(tf.distribute.InputContext(), 0))
    rates = []
    for _ in range(EPOCHS):
        start = time.perf_counter()
        for _ in range(data.steps_per_epoch):
            next(batches)
        rates.append(data.steps_per_epoch * 64 / (time.perf_counter() - start))
    return rates


def measure_input(folder):
    print(f"input pipeline, examples/s on {len(os.sched_getaffinity(0))} cores")
    for side, channels, count, encoding in ((8, 1, 40_000, "png"), (128, 3, 4_000, "jpeg")):
        address = make_dataset(folder / f"{side}", side, channels, count, encoding)
        size = dataset_description.load(address).bytes / count
        name = f"{side}x{side}x{channels} {encoding}, {size:.0f} bytes each"
        first, *later = epoch_rates(address)
        kept = f"first epoch {first:9,.0f}   later, from memory {statistics.median(later):9,.0f}"
        limit, input_module.CACHE_BYTES = input_module.CACHE_BYTES, 0
        again = statistics.median(epoch_rates(address)[1:])
        input_module.CACHE_BYTES = limit
        print(f"  {name:34}{kept}   read again {again:9,.0f}")


def train(address, output, names):
    """Seconds of the later epochs (median), and steps in one, of a training by these processes."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(len(names))]
    processes = []
    for name in names:
        kind, _, index = name.partition(":")
        jobs = {"chief": addresses[:1], "worker": addresses[1:]}
        config = {"cluster": jobs, "task": {"type": kind, "index": int(index)}}
        command = [sys.executable, "-m", "trainer.task", f"--dataset={address}", "--epochs=5"]
        command += ["--model=convolutional", "--task=multiclass_classification"]
        command += [f"--output={output}", "--outputs=metrics", "--plateau_patience=0"]
        environment = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "2"}
        environment |= {"TF_CONFIG": json.dumps(config)} if len(names) > 1 else {}
        processes.append(
            subprocess.Popen(
                command,
                env=os.environ | environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
    if any(process.wait() for process in processes):
        raise SystemExit(f"a training failed; its checkpoints are in {output}")
    metrics = json.loads((output / "metrics.json").read_text())
    seconds = statistics.median(row["seconds"] for row in metrics["history"][1:])
    return seconds, metrics["replicas"]["chief:0"]["steps"] // len(metrics["history"])


def measure_training(folder):
    print("training, convolutional with defaults (batch 32 per replica), with evaluation")
    for side, channels, count in ((8, 1, 8_000), (32, 3, 2_000)):
        address = make_dataset(folder / f"train{side}", side, channels, count, "png")
        speeds = {}
        for names in (["chief:0"], ["chief:0", "worker:0"]):
            seconds, steps = train(address, folder / f"out{side}-{len(names)}", names)
            speeds[len(names)] = steps * 32 * len(names) / seconds
            print(
                f"  {side}x{side}x{channels}, {len(names)} process(es): "
                f"{steps / seconds:7.1f} steps/s {speeds[len(names)]:9,.0f} examples/s"
            )
        print(f"  {side}x{side}x{channels}, two to one: {speeds[2] / speeds[1]:.2f}")


if __name__ == "__main__":
    tf.random.set_seed(1)
    with tempfile.TemporaryDirectory() as scratch:
        measure_input(Path(scratch))
        measure_training(Path(scratch))
