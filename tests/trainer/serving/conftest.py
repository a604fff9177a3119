"""A model whose answers can be told without training."""

import functools

import keras
import numpy as np
import pytest

from testbed.tables import mixed_rows, write_table
from testbed.untrained import as_if_trained
from trainer import dataset_description
from trainer.models import inputs
from trainer.training import saved_model
from trellis_contracts.dataset import Counts, DatasetDescription, Split
from trellis_contracts.dataset_features import Feature, Label
from trellis_contracts.tasks import SEGMENTATION

CLASSES = ("dark", "light")


def brightness_model(dataset):
    """Tells dark images from light ones by their mean."""
    row = inputs.table(dataset, embedding=1)
    x = keras.layers.GlobalAveragePooling2D()(row.images["image"])
    model = keras.Model(row.inputs, keras.layers.Dense(2)(x))
    model.set_weights([np.array([[-2.0, 2.0]]), np.zeros(2)])
    return model


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    """The SavedModel that a training writes."""
    image = Feature("image", "image", "uint8", "png", (8, 8, 1))
    return exported(brightness_model, (image,), tmp_path_factory.mktemp("serving") / "model")


def exported(build, features, folder, task=None, label=None):
    """The folder of the SavedModel of build(dataset), for a dataset of CLASSES, or of
    numbers with a label.
    """
    classes = () if label else CLASSES
    counts = Counts(1, dict.fromkeys(classes, 1))
    splits = ("train", "validation", "test")
    if label is None:
        label = Label.of_masks(features[0]) if task == SEGMENTATION else Label()
    dataset = DatasetDescription(
        fingerprint="f00d",
        source={},
        split=Split("column ML_USE", {}),
        features=features,
        label=label,
        classes=classes,
        counts=dict.fromkeys(splits, counts),
        files=dict.fromkeys(splits, ()),
        rejected=0,
        task=task,
    )
    saved_model.export(build(dataset), dataset, folder)
    return folder


@pytest.fixture(scope="session")
def row_models(tmp_path_factory):
    """A function: task -> the folder of a SavedModel of rows (testbed.tables.mixed_rows), with
    random weights; made once for all files of tests.
    """

    @functools.cache
    def made(task):
        folder = tmp_path_factory.mktemp("rows")
        columns, labels = mixed_rows(60)
        files = {"train": [50], "validation": [5], "test": [5]}
        address = write_table(folder / "d", columns, labels, files=files, task=task)
        dataset = dataset_description.load(address)
        saved_model.export(as_if_trained("recurrent", dataset), dataset, folder / "model")
        return folder / "model"

    return made


@pytest.fixture(scope="session", params=["binary_classification", "regression"])
def row_model_folder(request, row_models):
    """A folder of `row_models`, in turn that of each task."""
    return row_models(request.param)
