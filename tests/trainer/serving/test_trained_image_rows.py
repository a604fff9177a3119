"""A model that a training saves of rows with images, as the server asks it."""

import base64
import json

import keras
import numpy as np
import pytest

from testbed.predicting import predict
from testbed.tables import mixed_rows, png, write_table
from trainer import dataset_description, models
from trainer.comparison.raw_examples import time_text
from trainer.serving.model import Model
from trainer.serving.parameters import Explain
from trainer.training import saved_model
from trellis_contracts.dataset_features import IMAGE
from trellis_contracts.hyperparameters import Hyperparameters

COUNT, TEST = 40, 6
READ = ("size", "site", "taken")
PHOTO, SCAN = (16, 12, 3), (8, 8, 1)
FILES = {"train": [30], "validation": [4], "test": [TEST]}


@pytest.fixture(scope="module")
def raw():
    random = np.random.default_rng(5)
    columns, labels = mixed_rows(COUNT)
    columns = {name: columns[name] for name in READ}
    columns["photo"] = (IMAGE, list(random.integers(0, 256, (COUNT, *PHOTO), np.uint8)))
    columns["scan"] = (IMAGE, list(random.integers(0, 65_536, (COUNT, *SCAN), np.uint16)))
    return columns, labels


@pytest.fixture(scope="module")
def address(raw, tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("d") / "rows", *raw, files=FILES)


@pytest.fixture(scope="module", params=["convolutional", "dense"])
def folder(request, address, tmp_path_factory):
    """The SavedModel of an untrained model, which reads all columns, or not the images."""
    keras.utils.set_random_seed(1)
    dataset = dataset_description.load(address)
    model = models.build(request.param, dataset, Hyperparameters(blocks=2, filters=4))
    target = tmp_path_factory.mktemp("export") / "model"
    saved_model.export(model, dataset, target)
    return target


@pytest.fixture(scope="module")
def model(folder):
    found = Model.load(folder)
    found.warm_up(3)
    return found


@pytest.fixture(scope="module")
def rows(raw, model):
    """The test split's rows as the server has read them."""
    write = {"timestamp": lambda value: None if value is None else time_text(value)}
    write[IMAGE] = lambda pixels: {"b64": base64.b64encode(png(pixels)).decode()}
    columns = {
        name: [write.get(kind, lambda value: value)(value) for value in values]
        for name, (kind, values) in raw[0].items()
    }
    instances = [
        {name: values[row] for name, values in columns.items()}
        for row in range(COUNT - TEST, COUNT)
    ]
    return model.rows.read(json.dumps({"instances": instances}).encode()).instances


def test_files_and_columns_have_the_predictions_of_the_records(folder, model, rows, address):
    dataset = dataset_description.load(address)
    _, _, offline = predict(folder, address, dataset, "test")
    served = model.predict([model.rows.decoded(row) for row in rows])
    found = [[answer["probabilities"][name] for name in dataset.classes] for answer in served]
    np.testing.assert_allclose(found, offline, atol=1e-6)


def test_shares_add_up_and_pixels_are_those_of_each_image(model, rows):
    found = model.explainer.explain(rows[0], 1, Explain(steps=100))
    moved = found["score"] - found["baseline_score"]
    assert sum(found["attributions"].values()) == pytest.approx(moved, abs=1e-5)
    assert list(found["pixels"]) == ["photo", "scan"]
    for one in found["pixels"].values():
        assert one["score"] == pytest.approx(found["score"], abs=1e-5)
        assert one["approximation_error"] < 0.02
    # The dense model reads the columns alone: another picture to begin with changes nothing.
    white = model.explainer.explain(rows[0], 1, Explain(baseline="white"))
    same = white["baseline_score"] == pytest.approx(found["baseline_score"], abs=1e-7)
    assert same == (not any(found["attributions"][name] for name in found["pixels"]))
