"""Requirements on every model: export as it is, repeat itself, spread over replicas."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from testbed.predicting import predict
from testbed.tables import mixed_rows, write_table
from testbed.trainings import ROOT, arguments
from trainer import dataset_description, models
from trainer.training import saved_model
from trainer.training.records import Records
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.models import MODELS

pytestmark = pytest.mark.timeout(600)

# The backbones take no images as small as these: see test_backbone.py.
CASES = [
    (name, kind)
    for name, model in MODELS.items()
    for kind in model.inputs
    if "multiclass_classification" in model.tasks and name != "backbone"
]


@pytest.fixture(scope="session")
def few(few_digits, few_rows):
    """The addresses of small datasets, and their tasks, by kind."""
    return {
        "image": (few_digits, "multiclass_classification"),
        "table": (few_rows, "binary_classification"),
    }


@pytest.fixture(scope="session")
def some_kinds(tmp_path_factory):
    """A table of four kinds of features; test_raw_rows.py has the others, and a model of all."""
    columns, labels = mixed_rows(60)
    taken = {name: columns[name] for name in ("size", "site", "pulse", "note")}
    files = {"train": [30], "validation": [10], "test": [20]}
    folder = tmp_path_factory.mktemp("datasets") / "some_kinds"
    return write_table(folder, taken, labels, files=files, vocabulary=20)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_savedmodel_answers_as_the_model(name, kind, few_digits, some_kinds, tmp_path):
    address = {"image": few_digits, "table": some_kinds}[kind]
    dataset = dataset_description.load(address)
    keras.utils.set_random_seed(1)
    small = Hyperparameters(dropout=0.2, layers=1, blocks=1, attention_blocks=1)
    model = models.build(name, dataset, small)
    for variable in model.weights:  # as if trained: tables of terms begin with zeros
        variable.assign_add(np.random.default_rng(2).normal(0, 0.05, variable.shape))
    saved_model.export(model, dataset, tmp_path / "model")
    _, _, answers = predict(tmp_path / "model", address, dataset, "test")
    records = Records(dataset)
    files = [f"{address}/{shard.name}" for shard in dataset.files["test"]]
    (batch,) = tf.data.TFRecordDataset(files).batch(1000)
    inputs, *_ = records.parse(batch)
    expected = tf.nn.softmax(model(inputs, training=False)).numpy()
    assert np.ptp(expected, axis=0).max() > 1e-3
    np.testing.assert_allclose(answers, expected, atol=1e-6)


# One process for four: TensorFlow's start takes longer than such a training.
TRAININGS = """
import json, sys
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from trainer import task
task._leave = lambda: None  # else the first training ends the process
for argv in json.loads(sys.argv[1]):
    assert task.main(argv) == 0
"""


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def trained(request, few, tmp_path_factory):
    """metrics.json of a model: trained twice with dropout, then on one replica and on two."""
    name, kind = request.param
    address, task = few[kind]
    folder = tmp_path_factory.mktemp(name)
    once = {"dropout": 0.2, "seed": 3}
    alike = {"learning_rate_scaling": "none", "optimizer": "sgd"}
    ways = {
        "once": once,
        "again": once,
        "single": {"strategy": "single", "batch_size": 32, **alike},
        "mirrored": {"strategy": "mirrored", "batch_size": 16, **alike},
    }
    same = {"task": task, "model": name, "outputs": "metrics", "epochs": 3}
    commands = [
        arguments(address, output=folder / way, **same, **flags) for way, flags in ways.items()
    ]
    subprocess.run([sys.executable, "-c", TRAININGS, json.dumps(commands)], check=True, cwd=ROOT)
    return {way: json.loads((folder / way / "metrics.json").read_text()) for way in ways}


@pytest.mark.slow
def test_a_seed_gives_the_same_weights_again(trained):
    once, again, other = (trained[way]["weights_sha256"] for way in ("once", "again", "single"))
    assert once == again != other


@pytest.mark.slow
def test_two_replicas_learn_what_one_does(trained):
    """Each has half the batch; sums of gradients are rounded in another order."""
    one, two = (trained[way]["history"] for way in ("single", "mirrored"))
    assert one[-1]["loss"] < one[0]["loss"]
    for row, other in zip(one, two, strict=True):
        for metric in ("loss", "val_loss"):
            assert row[metric] == pytest.approx(other[metric], rel=1e-4)
