"""Errors of TensorFlow and the operating system, by real ones."""

import shutil

import pytest
import tensorflow as tf

from testbed.trainings import arguments
from trainer import dataset_description
from trainer.estimators import run
from trainer.training import TrainingError, failures
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags


@pytest.fixture
def train(tmp_path):
    """A function: dataset, flags. Trains in this process."""

    def train(dataset, **flags):
        argv = arguments(dataset, output=tmp_path / "out", outputs="metrics", **flags)
        settings = parse_flags(argv, "")
        run.train(settings, checked_dataset(settings))

    return train


@pytest.fixture(params=["few_digits", "few_rows"])
def damaged(request, tmp_path):
    """A dataset with a changed byte in the third record of a file: its address, what names that
    record, and a task that fits it.
    """
    folder = tmp_path / "damaged"
    shutil.copytree(request.getfixturevalue(request.param), folder)
    file = sorted(folder.glob("train-*"))[1]
    sizes = [len(record.numpy()) + 16 for record in tf.data.TFRecordDataset(str(file))]
    content = bytearray(file.read_bytes())
    content[sum(sizes[:2]) + 20] ^= 1
    file.write_bytes(content)
    place = f"{file} is corrupt: its record 3, from byte {sum(sizes[:2])} on"
    images = request.param == "few_digits"
    return f"{folder}/", place, f"{'multiclass' if images else 'binary'}_classification"


def test_a_corrupt_record_is_named_with_its_file_and_place(damaged, train):
    address, place, task = damaged
    with pytest.raises(TrainingError) as error:
        train(address, epochs=1, task=task)
    assert place in str(error.value)


def test_a_full_disk_is_said_as_such(train, few_digits, tmp_path):
    """/dev/full has no space, as a full disk has none."""
    folder = tmp_path / "out/checkpoints/step-0000000005-epoch-000001"
    folder.mkdir(parents=True)
    (folder / "variables.index").symlink_to("/dev/full")
    with pytest.raises(TrainingError, match="the disk is full"):
        train(few_digits, epochs=1)


def test_a_device_without_memory_is_said_as_such(few_digits):
    reason = "OOM when allocating tensor with shape[512,9] and type float"
    with (
        pytest.raises(TrainingError, match=r"for a tensor of shape\[512,9\]: use a smaller"),
        failures.explained(few_digits, dataset_description.load(few_digits)),
    ):
        raise tf.errors.ResourceExhaustedError(None, None, reason)


def test_other_errors_stay_what_they_are(few_digits):
    dataset = dataset_description.load(few_digits)
    with pytest.raises(PermissionError), failures.explained(few_digits, dataset):
        raise PermissionError(13, "Permission denied", "x")
