"""Speed of training by precision, compilation and number of devices: made for machines with GPUs.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/accelerators.py [--small]

In the trainer's image on a Vertex AI machine, beside the repository, it is `python` alone.

Each configuration is a training of its own, `python -m trainer.task` on random JPEGs of 224 x 224
that fit into memory, as a job runs it: all GPUs of the machine in a MirroredStrategy, or one by
CUDA_VISIBLE_DEVICES. Printed are examples a second of the later epochs (median), validation
included, and the ratio to float32 on one device. --small takes images of 32 x 32 and fewer
configurations: it shows on any machine that the program works, and its figures say nothing of GPUs.
"""

import argparse
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

MODELS = {
    "ResNet50": {"model": "backbone", "backbone": "ResNet50", "unfrozen_layers": 100},
    "DenseNet121": {"model": "backbone", "backbone": "DenseNet121", "unfrozen_layers": 100},
    "vision_transformer": {"model": "vision_transformer"},
}
SMALL = {"vision_transformer": MODELS["vision_transformer"]}
WAYS = {
    "float32": {},
    "float32, XLA": {"jit_compile": "true"},
    "bfloat16": {"mixed_precision": "bfloat16"},
    "float16": {"mixed_precision": "float16"},
    "float16, XLA": {"mixed_precision": "float16", "jit_compile": "true"},
}
EPOCHS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="small images, any machine")
    small = parser.parse_args().small
    gpus = len(tf.config.list_physical_devices("GPU"))
    side, count, batch = (32, 1_000, 32) if small else (224, 10_000, 64)
    print(f"{gpus} GPUs; {count:,} JPEGs of {side} x {side}, batches of {batch} per device\n")
    print("| model | devices | computing in | examples/s | to float32 on one |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        address = make_dataset(folder / "images", side, 3, count, "jpeg")
        for model, flags in (SMALL if small else MODELS).items():
            alone = None
            for devices in sorted({1, max(1, gpus)}):
                for way, how in WAYS.items():
                    given = {**flags, **how, "batch_size": batch}
                    speed = measured(address, folder, given, devices if gpus else 0)
                    alone = alone or speed
                    ratio = f"{speed / alone:.2f}" if speed and alone else ""
                    rate = f"{speed:,.0f}" if speed else "refused"
                    print(f"| {model} | {devices} | {way} | {rate} | {ratio} |", flush=True)


def measured(address: str, folder: Path, flags: dict, gpus: int) -> float | None:
    """Examples a second; None if such a training is refused, with the reason on stderr."""
    with tempfile.TemporaryDirectory(dir=folder) as output:
        given = {
            "dataset": address,
            "output": output,
            "outputs": "metrics",
            "task": "multiclass_classification",
            "epochs": EPOCHS,
            "plateau_patience": 0,
            **flags,
        }
        command = [sys.executable, "-m", "trainer.task"]
        command += [f"--{name}={value}" for name, value in given.items()]
        visible = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(gpus)))} if gpus else {}
        done = subprocess.run(command, env=os.environ | visible, capture_output=True, text=True)
        if done.returncode:
            print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
            return None
        metrics = json.loads((Path(output) / "metrics.json").read_text())
    replicas = metrics["replicas"].values()
    examples = sum(one["examples"] for one in replicas) / len(metrics["history"])
    return examples / statistics.median(row["seconds"] for row in metrics["history"][1:])


if __name__ == "__main__":
    main()
