"""Measures the CPU time of the largest request for explanations that trainer.serving.limits allows.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/explaining.py [MODEL ...]

For each model with its default hyperparameters, examples are explained for about 10 s of CPU time;
what a request at the limit takes follows. All in this process: no request, no queue. CPU time of
all threads, so other work on the machine changes it little. On N idle cores a request takes
between that time and an N-th of it.
"""

import math
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cv2
import numpy as np

from testbed.tables import png, write_table
from testbed.trainings import write_dataset
from trainer import dataset_description, models
from trainer.serving.images import EncodedImage
from trainer.serving.limits import MAX_EXPLAINED_VALUES
from trainer.serving.model import Model
from trainer.serving.parameters import Explain
from trainer.serving.rows import Row
from trainer.training import saved_model
from trellis_contracts.hyperparameters import Hyperparameters

SECONDS = 10
FILES = {"train": [40], "validation": [5], "test": [5]}
RANDOM = np.random.default_rng(0)


def of_rows(model, columns, length=0):
    """(served model, row): numbers, and a sequence of them if `length` is not 0."""

    def make(folder):
        rows = {f"x{i}": ("numeric", RANDOM.normal(size=50).tolist()) for i in range(columns)}
        if length:
            rows["series"] = ("sequence", RANDOM.normal(size=(50, length)).tolist())
        address = write_table(folder / "d", rows, [n % 2 for n in range(50)], files=FILES)
        served = load(model, address, folder)
        instance = {name: values[0] for name, (_, values) in rows.items()}
        return served, Row([instance[field.column] for field in served.rows.fields])

    return make


def of_images(model, size):
    """(served model, image): size x size pixels in colour."""

    def make(folder):
        images = RANDOM.integers(0, 256, (50, size, size, 3)).astype(np.uint8)
        label = np.arange(50) % 10
        address = write_dataset(folder / "d", images, label, files=FILES, encoding="png")
        _, png = cv2.imencode(".png", images[0])
        return load(model, address, folder), Row((EncodedImage(png.tobytes(), size * size),))

    return make


def of_both(model, columns, size):
    """(served model, row): numbers beside an image of size x size pixels in colour."""

    def make(folder):
        rows = {f"x{i}": ("numeric", RANDOM.normal(size=50).tolist()) for i in range(columns)}
        images = RANDOM.integers(0, 256, (50, size, size, 3)).astype(np.uint8)
        rows["photo"] = ("image", list(images))
        address = write_table(folder / "d", rows, [n % 2 for n in range(50)], files=FILES)
        served = load(model, address, folder)
        instance = {name: values[0] for name, (_, values) in rows.items()}
        instance["photo"] = EncodedImage(png(images[0]), size * size)
        return served, Row(tuple(instance[field.column] for field in served.rows.fields))

    return make


def load(model, address, folder):
    """The model, untrained, as the server has it."""
    dataset = dataset_description.load(address)
    saved_model.export(models.build(model, dataset, Hyperparameters()), dataset, folder / "model")
    return Model.load(folder / "model")


CASES = {
    "dense, 30 columns": of_rows("dense", 30),
    "dense, 300 columns": of_rows("dense", 300),
    "recurrent, 1 column and 100 values": of_rows("recurrent", 1, 100),
    "transformer, 1 column and 100 values": of_rows("transformer", 1, 100),
    "convolutional, 32 x 32": of_images("convolutional", 32),
    "convolutional, 224 x 224": of_images("convolutional", 224),
    "vision_transformer, 32 x 32": of_images("vision_transformer", 32),
    "convolutional, 64 x 64 and 30 columns": of_both("convolutional", 30, 64),
    "convolutional, 224 x 224 and 10 columns": of_both("convolutional", 10, 224),
}

if __name__ == "__main__":
    print(f"{'model':40} {'limit takes':>12}   examples at the limit")
    for title, make in CASES.items():
        if sys.argv[1:] and title.partition(",")[0] not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            served, example = make(Path(scratch))
            explainer, how = served.explainer, Explain()
            explainer.explain(example, 0, how)  # traced once
            done, start = 0, time.process_time()
            while (spent := time.process_time() - start) < SECONDS:
                explainer.explain(example, 0, how)
                done += 1
            work = explainer.work(example, how)
            at_limit = math.floor(MAX_EXPLAINED_VALUES / work)
            print(f"{title:40} {spent * at_limit / done:>8.1f} s   {at_limit}", flush=True)
