"""Speed of training by precision, compilation and number of devices, and of the input beside it:
made for machines with GPUs. 60 to 90 s for each row on an H200, 20 minutes in all.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/accelerators.py [--small] [MODEL ...]

In the trainer's image on a Vertex AI machine, beside the repository, it is `python` alone.

Each configuration is a training of its own, `python -m trainer.task` on random JPEGs of 224 x 224
that fit into memory, as a job runs it: all GPUs of the machine in a MirroredStrategy, or one by
CUDA_VISIBLE_DEVICES. Printed are examples a second of the later epochs (median), validation
included, and the ratio to float32 on one device. TensorFlow lets Ampere GPUs and later compute
float32 products in TF32, with 10 bits of mantissa; NVIDIA_TF32_OVERRIDE=0 forbids that.

First comes the input alone, of images that are kept decoded in memory, as those of the trainings,
and of images that every epoch decodes again: a training cannot be faster than its input.

--small takes images of 32 x 32 and one small model: it shows on any machine that the program works,
and its figures say nothing of GPUs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from benchmarks.datasets import make_dataset
from benchmarks.speed import inputs
from benchmarks.speed.fitting import rate
from trainer.training.kept import MEMORY

MODELS = {
    "ResNet50": {"model": "backbone", "backbone": "ResNet50"},
    # ViT-S/16 of https://arxiv.org/abs/2012.12877.
    "vision_transformer": {
        "model": "vision_transformer",
        "patches": 14,
        "heads": 6,
        "head_units": 64,
        "attention_blocks": 12,
    },
    "DenseNet121": {"model": "backbone", "backbone": "DenseNet121"},
}
SMALL = {"vision_transformer": {"model": "vision_transformer"}}
# Both have max pooling, which jit_compile refuses (trainer.training.distribution.not_compiled).
NOT_COMPILED = {"ResNet50", "DenseNet121"}
EPOCHS = 4


class Way(NamedTuple):
    """How a model is computed: flags of trainer.task, and variables of its environment."""

    name: str
    flags: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}


WAYS = (
    Way("float32"),
    Way("bfloat16", {"mixed_precision": "bfloat16"}),
    Way("float16", {"mixed_precision": "float16"}),
    Way("float32, XLA", {"jit_compile": "true"}),
    Way("bfloat16, XLA", {"mixed_precision": "bfloat16", "jit_compile": "true"}),
    Way("float16, XLA", {"mixed_precision": "float16", "jit_compile": "true"}),
    Way("float32 without TF32", environment={"NVIDIA_TF32_OVERRIDE": "0"}),
)


def ways(model: str, gpus: int) -> list[Way]:
    """Those that a model can be computed in on a machine with so many GPUs."""
    return [
        way
        for way in WAYS
        if (model not in NOT_COMPILED or "jit_compile" not in way.flags)
        and (gpus or not way.environment)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--small", action="store_true", help="small images, any machine")
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"{', '.join(MODELS)} (default: all)"
    )
    options = parser.parse_args()
    models = SMALL if options.small else MODELS
    if unknown := set(options.models) - set(models):
        parser.error(f"no model {', '.join(sorted(unknown))}: {', '.join(models)}")
    gpus = tf.config.list_physical_devices("GPU")
    names = {tf.config.experimental.get_device_details(gpu).get("device_name") for gpu in gpus}
    # The trainings have them, not this process.
    tf.config.set_visible_devices([], "GPU")
    side, count = (32, 1_000) if options.small else (224, 8_000)
    print(
        f"TensorFlow {tf.__version__}, {len(gpus)} GPUs{''.join(f', {name}' for name in names)}, "
        f"{len(os.sched_getaffinity(0))} cores; {count:,} JPEGs of {side} x {side}, of which "
        f"{count * 4 // 5:,} are trained on, in batches of {inputs.BATCH} per device\n",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        address = make_dataset(folder / "images", side, 3, count, "jpeg")
        print("| input alone | examples/s |\n|---|---|")
        for name, kept in (("kept in memory", MEMORY), ("decoded in every epoch", None)):
            print(f"| {name} | {inputs.alone(address, kept):,.0f} |", flush=True)
        print("\n| model | devices | computing in | examples/s | to float32 on one |")
        print("|---|---|---|---|---|")
        for model in options.models or models:
            alone = None
            for devices in sorted({1, max(1, len(gpus))}):
                for way in ways(model, len(gpus)):
                    speed = measured(address, folder, models[model], way, devices if gpus else 0)
                    alone = alone or speed
                    ratio = f"{speed / alone:.2f}" if speed and alone else ""
                    shown = f"{speed:,.0f}" if speed else "refused"
                    print(f"| {model} | {devices} | {way.name} | {shown} | {ratio} |", flush=True)


def measured(address: str, folder: Path, model: Mapping, way: Way, gpus: int) -> float | None:
    """Examples a second; None if such a training is refused, with the reason on stderr."""
    with tempfile.TemporaryDirectory(dir=folder) as output:
        given = {
            "dataset": address,
            "output": output,
            "outputs": "metrics",
            "task": "multiclass_classification",
            "epochs": EPOCHS,
            "batch_size": inputs.BATCH,
            "plateau_patience": 0,
            **model,
            **way.flags,
        }
        command = [sys.executable, "-m", "trainer.task"]
        command += [f"--{name}={value}" for name, value in given.items()]
        environment = os.environ | way.environment
        if gpus:
            environment |= {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(gpus)))}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            print(done.stderr.strip().splitlines()[-1], file=sys.stderr, flush=True)
            return None
        metrics = json.loads((Path(output) / "metrics.json").read_text())
    return rate(metrics)


if __name__ == "__main__":
    main()
