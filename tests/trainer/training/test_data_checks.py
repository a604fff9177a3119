"""Datasets that cannot be trained on, each refused before TensorFlow starts."""

import json
from pathlib import Path

import numpy as np
import pytest

from testbed.tables import write_table
from testbed.trainings import arguments, write_dataset
from tests.wording import says
from trainer.training import TrainingError
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.dataset_features import IMAGE, NUMERIC

FILES = {"train": [8], "validation": [2], "test": [2]}


@pytest.fixture
def refusal(tmp_path):
    """A function: labels of 12 images, flags -> the message of the refusal."""

    def check(labels=(0, 1) * 6, files=FILES, classes=None, damage=lambda folder: None, **flags):
        images = np.zeros((12, 4, 4, 1), np.uint8)
        address = write_dataset(tmp_path / "d", images, labels, files=files, classes=classes)
        damage(Path(address))
        settings = parse_flags(arguments(address, output=tmp_path / "out", **flags), "")
        with pytest.raises(TrainingError) as error:
            checked_dataset(settings)
        return str(error.value)

    return check


def test_no_dataset(tmp_path):
    settings = parse_flags(arguments(tmp_path, output=tmp_path), "")
    with pytest.raises(TrainingError, match="no dataset has been committed here"):
        checked_dataset(settings)


def test_a_missing_file(refusal):
    name = "validation-00000-of-00001.tfrecord"
    assert says(refusal(damage=lambda d: (d / name).unlink()), "incomplete", name, "missing")


def test_a_truncated_file(refusal):
    name = "train-00000-of-00001.tfrecord"
    assert f"{name} has 5 bytes" in refusal(damage=lambda d: (d / name).write_bytes(b"short"))


def test_one_class_only(refusal):
    assert "has 1 class; a classifier needs two" in refusal(labels=[0] * 12)


def test_three_classes_for_a_binary_task(refusal):
    error = refusal(labels=[0, 1, 2] * 4, task="binary_classification")
    assert says(error, "3 classes", "binary_classification", "2")


def test_an_empty_split(refusal):
    error = refusal(files={"train": [12], "validation": [0], "test": [0]})
    assert "has no example in the validation split" in error


def test_a_trial_needs_no_test_split(tmp_path):
    files = {"train": [10], "validation": [2], "test": [0]}
    images = np.zeros((12, 4, 4, 1), np.uint8)
    address = write_dataset(tmp_path / "d", images, [0, 1] * 6, files=files)
    flags = arguments(address, output=tmp_path / "out", outputs="metrics")
    assert checked_dataset(parse_flags(flags, "")).examples("train") == 10


def test_features_that_no_model_reads(refusal):
    def to_sound(folder):
        document = json.loads((folder / "dataset.json").read_text())
        document["features"][0]["kind"] = "sound"
        (folder / "dataset.json").write_text(json.dumps(document))

    assert "features[0].kind: expected one of" in refusal(damage=to_sound)


@pytest.mark.parametrize(
    ("columns", "weights", "model", "wrong"),
    [
        ({"photo": IMAGE, "age": NUMERIC}, None, "convolutional", "has columns beside its images"),
        ({"left": IMAGE, "right": IMAGE}, None, "convolutional", "has 2 images in an example"),
        ({"photo": IMAGE}, [1.0, 2.0] * 6, "convolutional", "has weights"),
        ({"photo": IMAGE, "age": NUMERIC}, None, "dense", "mix, mix_alpha would have no effect"),
        ({"photo": IMAGE}, None, "convolutional", None),
    ],
)
def test_rows_that_cannot_be_mixed(columns, weights, model, wrong, tmp_path):
    picture = np.zeros((8, 8, 1), np.uint8)
    values = {
        name: (kind, [picture] * 12 if kind == IMAGE else list(range(12)))
        for name, kind in columns.items()
    }
    address = write_table(tmp_path / "d", values, [0, 1] * 6, files=FILES, weights=weights)
    task = {"task": "binary_classification", "model": model, "mix": "mixup", "mix_alpha": 0.5}
    settings = parse_flags(arguments(address, output=tmp_path / "out", **task), "")
    if wrong is None:
        assert checked_dataset(settings).inputs == {"image"}
        return
    with pytest.raises(TrainingError, match=wrong):
        checked_dataset(settings)
