"""Trainings of a backbone in two phases, with a small network in place of Keras' large ones."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import layers

from testbed.trainings import ROOT, arguments, without_seconds, write_dataset
from trainer.estimators import run
from trainer.models import backbone
from trainer.training import checkpoints
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

pytestmark = pytest.mark.timeout(600)


def network(name, shape, pooling="avg"):
    """Two convolutions, each normalized."""
    taken = x = keras.Input(shape)
    for filters in (4, 8):
        x = layers.Conv2D(filters, 3, strides=2)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return keras.Model(taken, layers.GlobalAveragePooling2D()(x))


@pytest.fixture(scope="module")
def bright(tmp_path_factory):
    """60 images of 16 x 16, dark and bright."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 60)
    images = random.normal(80 + 90 * labels[:, None, None, None], 30, (60, 16, 16, 3))
    folder = tmp_path_factory.mktemp("d") / "bright"
    files = {"train": [40], "validation": [10], "test": [10]}
    return write_dataset(folder, images.clip(0, 255).astype(np.uint8), labels, files=files)


@pytest.fixture
def train(bright, tmp_path, monkeypatch):
    """A function: output folder, flags -> metrics.json."""
    monkeypatch.setattr(backbone, "network", network)
    keras.utils.set_random_seed(2)
    network("", (16, 16, 3)).save_weights(tmp_path / "MobileNetV2.weights.h5")

    def train(output="out", **flags):
        flags = {"model": "backbone", "batch_size": 8, "weights": tmp_path, **flags}
        settings = parse_flags(arguments(bright, output=tmp_path / output, **flags), "")
        assert run.train(settings, checked_dataset(settings)) == 0
        return json.loads(settings.places.metrics.read_text())

    return train


PHASES = {"head_epochs": 3, "unfrozen_layers": 1, "fine_tuning_rate": 0.1, "learning_rate": 0.02}


def test_each_phase_warms_up_to_its_own_rate(train):
    metrics = train(epochs=6, plateau_patience=0, warmup_epochs=2, outputs="metrics", **PHASES)
    rates = [row["learning_rate"] for row in metrics["history"]]
    assert rates == pytest.approx([0.01, 0.02, 0.02, 0.001, 0.002, 0.002])


def test_without_a_warm_up_each_phase_begins_at_its_rate_and_patience_with_the_last(train):
    flags = {"learning_rate": 1e-9, "early_stopping_patience": 1, "plateau_patience": 0}
    metrics = train(epochs=20, warmup_epochs=0, outputs="metrics", **PHASES | flags)
    assert metrics["epochs_run"] >= 4
    rates = [row["learning_rate"] for row in metrics["history"]]
    assert rates[:4] == pytest.approx([1e-9, 1e-9, 1e-9, 1e-10], rel=1e-3, abs=0)


@pytest.mark.slow
def test_an_interrupted_training_ends_in_the_same_phase_and_weights(train, monkeypatch):
    """Interrupted after the first phase, and within the second."""
    undisturbed = without_seconds(train("undisturbed", epochs=6, dropout=0.2, **PHASES))
    monkeypatch.setattr("trainer.training.loop.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("trainer.training.synchronous.STEPS_PER_CALL", 2)
    for saves in (3 * 3, 2):
        with monkeypatch.context() as patch:
            save, calls = checkpoints.save, []

            def interrupted(*arguments, save=save, calls=calls, saves=saves):
                if len(calls) == saves:
                    raise KeyboardInterrupt
                calls.append(save(*arguments))

            patch.setattr(checkpoints, "save", interrupted)
            with pytest.raises(KeyboardInterrupt):
                train(epochs=6, dropout=0.2, **PHASES)
    assert without_seconds(train(epochs=6, dropout=0.2, **PHASES)) == undisturbed
    assert undisturbed["test"]["accuracy"] > 0.8


PROGRAM = """
import json, sys
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from tests.trainer.training.test_phases import network
from trainer.estimators import run
from trainer.models import backbone
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
backbone.network = network
for argv in json.loads(sys.argv[1]):
    settings = parse_flags(argv, "")
    assert run.train(settings, checked_dataset(settings)) == 0
"""


@pytest.mark.slow
@pytest.mark.parametrize("given", [True, False])
def test_two_replicas_learn_what_one_does(bright, tmp_path, given):
    """Batch normalization stays as it is, or is over both replicas' examples."""
    keras.utils.set_random_seed(2)
    network("", (16, 16, 3)).save_weights(tmp_path / "MobileNetV2.weights.h5")
    flags = {
        "model": "backbone",
        "weights": tmp_path if given else "none",
        "epochs": 5,
        "optimizer": "sgd",
        "learning_rate_scaling": "none",
        "outputs": "metrics",
        **(PHASES if given else {}),
    }
    ways = {"single": 8, "mirrored": 4}
    commands = [
        arguments(bright, output=tmp_path / way, strategy=way, batch_size=size, **flags)
        for way, size in ways.items()
    ]
    subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(commands)], check=True, cwd=ROOT)
    one, two = (
        json.loads((tmp_path / way / "metrics.json").read_text())["history"] for way in ways
    )
    assert one[-1]["loss"] < one[0]["loss"]
    for row, other in zip(one, two, strict=True):
        for metric in ("loss", "val_loss", "learning_rate"):
            assert row[metric] == pytest.approx(other[metric], rel=1e-3)
