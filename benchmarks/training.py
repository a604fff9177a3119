"""Speed of training with one and with two processes on this machine. 10 to 20 minutes.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/training.py

The convolutional model with its defaults. Two processes in lockstep stand beside two that train
each by itself at the same time, the limit of what this machine can do: beside its computing thread
a process has those of its input pipeline and of operations that need no other's result, so that one
alone may keep both cores busy. Two machines would give more than either.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from benchmarks.datasets import make_dataset
from testbed.trainings import free_ports

# The default batch_size.
BATCH = 32
ROUNDS = 3


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


def one(address, folder):
    """Examples a second of one process."""
    seconds, steps = train(address, Path(tempfile.mkdtemp(dir=folder)), ["chief:0"])
    return steps * BATCH / seconds


def lockstep(address, folder):
    """Examples a second of two processes that make each step together."""
    seconds, steps = train(address, Path(tempfile.mkdtemp(dir=folder)), ["chief:0", "worker:0"])
    return 2 * steps * BATCH / seconds


def apart(address, folder):
    """Examples a second of two processes, each with a training of its own."""
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(lambda _: one(address, folder), range(2)))


def measure_training(folder):
    print(f"training, convolutional with defaults ({BATCH} examples a replica), with evaluation")
    print(f"examples/s; ratio to one process of the same round, median of {ROUNDS} (from, to)")
    for side, channels, count in ((8, 1, 8_000), (32, 3, 2_000)):
        address = make_dataset(folder / f"train{side}", side, channels, count, "png")
        rounds = [[way(address, folder) for way in (one, lockstep, apart)] for _ in range(ROUNDS)]
        alone = [row[0] for row in rounds]
        print(f"  {side}x{side}x{channels}, one process: {statistics.median(alone):,.0f}")
        for name, column in (("two in lockstep", 1), ("two apart", 2)):
            speeds = [row[column] for row in rounds]
            ratios = [row[column] / row[0] for row in rounds]
            print(
                f"  {side}x{side}x{channels}, {name}: {statistics.median(speeds):,.0f}, "
                f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            )


if __name__ == "__main__":
    tf.random.set_seed(1)
    with tempfile.TemporaryDirectory() as scratch:
        measure_training(Path(scratch))
