"""Speed of training with one and with two processes on this machine. About two minutes.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/training.py

The convolutional model with its defaults, one thread per process; two workers on one machine share
its cores and memory, so their ratio is a lower bound of what two machines give.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from benchmarks.datasets import make_dataset
from tests.trainer.training.helpers import free_ports


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
        measure_training(Path(scratch))
