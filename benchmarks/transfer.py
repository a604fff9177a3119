"""Gain of a backbone's transfer learning over none. About 13 minutes.

    PYTHONPATH=. .venv/trainer/bin/python benchmarks/transfer.py [SEEDS]

ImageNet's weights have to be downloaded, so weights are made here, of the form that `python -m
trainer weights` writes: a MobileNetV3Small learns the 26 letters from 200 drawings of each. From
these weights `model: backbone` then learns the ten digits, which are other classes, from ten
drawings of each: the output layer alone, or also the last layers in a second phase. Beside them are
the same network from random weights, the convolutional model, a constant, and scikit-learn on the
pixels. Drawings have 32 x 32 pixels and are turned, moved, scaled, noisy, dark on bright or bright
on dark. Each seed has other drawings to learn from; all are scored on the same 1,000. Fails unless
the two phases beat every other way but the output layer alone, by 0.05 at worst. README.md has the
result.
"""

import os
import string
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cv2
import keras
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.models import trained
from testbed.trainings import write_dataset
from trainer import dataset_description
from trainer.models import backbone
from trellis_contracts.hyperparameters import Hyperparameters

NETWORK = "MobileNetV3Small"
SIDE = 32
LETTERS = string.ascii_uppercase
EPOCHS = 30
FEW, VALIDATION, TEST = 10, 10, 100
"""Drawings of each digit."""

FLAGS = {
    "task": "multiclass_classification",
    "batch_size": 16,
    "schedule": "cosine",
    "early_stopping_patience": 0,
    "epochs": 40,
}
BACKBONE = {"model": "backbone", "backbone": NETWORK}
WAYS = {
    "convolutional, from scratch": {"model": "convolutional", "learning_rate": 0.002},
    "backbone, from random weights": {**BACKBONE, "weights": "none", "epochs": 100},
    "backbone, output layer alone": {**BACKBONE, "unfrozen_layers": 0, "learning_rate": 0.01},
    "backbone, then its last 10 layers": {
        **BACKBONE,
        "unfrozen_layers": 10,
        "head_epochs": 15,
        "learning_rate": 0.01,
    },
}


def drawings(texts, count, seed):
    """(n, SIDE, SIDE, 1) uint8 drawings, `count` of each text, and (n,) its place, mixed."""
    random = np.random.default_rng(seed)
    labels = random.permutation(np.repeat(np.arange(len(texts)), count))
    return np.stack([_drawing(texts[label], random) for label in labels]), labels


def _drawing(text, random):
    face, thickness = int(random.integers(0, 8)), int(random.integers(2, 5))
    (width, height), _ = cv2.getTextSize(text, face, 1.4, thickness)
    ink = np.zeros((96, 96), np.uint8)
    place = ((96 - width) // 2, (96 + height) // 2)
    cv2.putText(ink, text, place, face, 1.4, 255, thickness, cv2.LINE_AA)
    move = cv2.getRotationMatrix2D((48, 48), random.uniform(-20, 20), random.uniform(0.4, 0.7))
    move[:, 2] += SIDE / 2 - 48 + random.uniform(-5, 5, 2)
    ink = cv2.warpAffine(ink, move, (SIDE, SIDE), flags=cv2.INTER_AREA)
    paper, contrast = random.uniform(60, 200), random.choice([-1, 1]) * random.uniform(40, 60)
    slope = random.uniform(-1, 1) * np.linspace(-20, 20, SIDE)
    pixels = paper + contrast * ink / 255.0 + slope + random.normal(0, 8, (SIDE, SIDE))
    return pixels.clip(0, 255).astype(np.uint8)[..., np.newaxis]


def learn_letters(folder):
    """Train the network on letters; writes its weights to the folder. Returns its accuracy on other
    drawings.
    """
    images, labels = drawings(LETTERS, 200, seed=1)
    files = {"train": [5000], "validation": [100], "test": [100]}
    address = write_dataset(folder / "letters", images, labels, files=files)
    dataset = dataset_description.load(address)
    keras.utils.set_random_seed(1)
    model = backbone.build(dataset, Hyperparameters(backbone=NETWORK))
    (network,) = (layer for layer in model.layers if isinstance(layer, keras.Model))
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.99  # for 2,000 steps; Keras' own is for ImageNet's hundred thousands
    steps = EPOCHS * (5000 // 64)
    model.compile(
        keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.003, steps)),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    model.fit(images[:5000], labels[:5000], batch_size=64, epochs=EPOCHS, verbose=0)
    network.save_weights(folder / f"{NETWORK}{backbone.SUFFIX}")
    images, labels = drawings(LETTERS, 20, seed=2)
    return float(np.mean(model.predict(images, verbose=0).argmax(axis=1) == labels))


def few_digits(seed):
    """Images and labels to train, validate and test with, one after the other."""
    parts = [
        drawings(string.digits, FEW, 100 + seed),
        drawings(string.digits, VALIDATION, 200 + seed),
        drawings(string.digits, TEST, 3),
    ]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def scores(folder, seed):
    """Accuracy on the test split by way of learning."""
    images, labels = few_digits(seed)
    sizes = {"train": [10 * FEW], "validation": [10 * VALIDATION], "test": [10 * TEST]}
    address = write_dataset(folder / f"digits-{seed}", images, labels, files=sizes)
    found = {}
    for number, (way, changed) in enumerate(WAYS.items()):
        flags = {**FLAGS, "seed": seed, **changed}
        if flags["model"] == "backbone":
            flags.setdefault("weights", folder)
        found[way] = trained(address, folder / f"output-{seed}-{number}", **flags)["accuracy"]
    train, test = slice(10 * FEW), slice(-10 * TEST, None)
    pixels = images.reshape(len(images), -1)
    peer = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    peer.fit(pixels[train], labels[train])
    found["logistic regression on the pixels"] = peer.score(pixels[test], labels[test])
    found["constant"] = 1 / 10
    return found


def main():
    seeds = range(1, 1 + int(sys.argv[1] if len(sys.argv) > 1 else 3))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        print(f"accuracy on letters: {learn_letters(folder):.3f}", flush=True)
        every = [scores(folder, seed) for seed in seeds]
    print(f"\n| way of learning | accuracy, mean of {len(seeds)} seeds | lowest, highest |")
    print("|---|---|---|")
    by_way = {way: [found[way] for found in every] for way in every[0]}
    for way, values in by_way.items():
        print(f"| {way} | {np.mean(values):.3f} | {min(values):.3f}, {max(values):.3f} |")
    phases = "backbone, then its last 10 layers"
    others = [way for way in by_way if way not in (phases, "backbone, output layer alone")]
    if min(by_way[phases]) < 0.05 + max(max(by_way[way]) for way in others):
        sys.exit("transfer learning is not clearly better")


if __name__ == "__main__":
    main()
