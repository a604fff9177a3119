"""The test split is read from the TFRecords, and predictions must be for exactly its examples."""

import struct

import numpy as np
import pytest

from tests.withheld import refuses
from trainer import dataset_description
from trainer.comparison.held_out_split import HeldOutSplitError, read_held_out_split
from trainer.prediction_forms.classification import Predictions
from trainer.prediction_forms.regression import Values

LABELS = [0, 1, 2, 1, 0]
KEYS = ["e.png", "a.png", "c/ü.png", "b.png", "d.png"]


@pytest.fixture
def run(run_folder):
    return run_folder(
        LABELS, ["cat", "dog", "owl"], keys=KEYS, images=[b"%d" % i for i in range(5)]
    )


def read(run):
    return read_held_out_split(f"{run.dataset}/", dataset_description.load(f"{run.dataset}/"))


def predicted(run, **changed):
    fields = {
        "keys": KEYS,
        "labels": LABELS,
        "probabilities": np.eye(3)[LABELS],
        "classes": ["cat", "dog", "owl"],
    }
    return Predictions(**(fields | changed))


def test_keys_and_labels_come_from_all_shards_in_the_order_of_the_keys(run):
    split = read(run)
    assert split.keys.tolist() == ["a.png", "b.png", "c/ü.png", "d.png", "e.png"]
    assert split.labels.tolist() == [1, 1, 2, 0, 0]
    assert split.classes == ("cat", "dog", "owl")


def test_an_examples_image_is_read_from_where_it_lies(run):
    split = read(run)
    assert [split.feature(i, "image") for i in range(5)] == [b"1", b"3", b"2", b"4", b"0"]


def test_predictions_are_put_in_the_splits_order(run):
    outcome = read(run).outcome(predicted(run))
    assert outcome.labels.tolist() == [1, 1, 2, 0, 0]
    assert outcome.predicted.tolist() == [1, 1, 2, 0, 0]


def test_missing_and_foreign_keys_are_counted_and_named(run):
    other = predicted(run, keys=["e.png", "a.png", "x1", "x2", "x3"])
    message = (
        r"scored 5 keys; the test split has 5; 3 missing: 'b.png', 'c/ü.png', 'd.png'; "
        r"3 not in the test split: 'x1', 'x2', 'x3'$"
    )
    with refuses(HeldOutSplitError, match=message):
        read(run).outcome(other)


def test_long_lists_of_keys_are_cut(run):
    other = predicted(
        run,
        keys=[*KEYS, *(f"x{i:02d}" for i in range(12))],
        labels=[*LABELS, *[0] * 12],
        probabilities=np.eye(3)[[*LABELS, *[0] * 12]],
    )
    with refuses(HeldOutSplitError, match=r"12 not in the test split: 'x00', .*'x09', \.\.\.$"):
        read(run).outcome(other)


def test_other_labels_are_counted_and_named(run):
    other = predicted(run, labels=[0, 1, 2, 2, 1])
    message = (
        "wrong labels for 2 of 5 keys of the test split: 'b.png', 'd.png'; "
        "'b.png' is 'dog' in the dataset and 'owl' in the predictions"
    )
    with refuses(HeldOutSplitError, match=message):
        read(run).outcome(other)


def test_classes_in_another_order_are_refused(run):
    with refuses(HeldOutSplitError, match="predicts 'dog', 'cat', 'owl'; the data"):
        read(run).outcome(predicted(run, classes=["dog", "cat", "owl"]))


def shard(run):
    return run.dataset / "test-00000-of-00002.tfrecord"


def test_a_missing_shard_is_named(run):
    shard(run).unlink()
    with refuses(HeldOutSplitError, match=r"test-00000-of-00002.tfrecord is named in dataset"):
        read(run)


@pytest.mark.parametrize("position", [3, 40, -2])
def test_a_flipped_bit_is_found(run, position):
    damaged = bytearray(shard(run).read_bytes())
    damaged[position] ^= 4
    shard(run).write_bytes(damaged)
    with refuses(HeldOutSplitError, match=r"test-00000-of-00002.tfrecord, record .*damaged"):
        read(run)


def test_a_cut_file_is_found(run):
    shard(run).write_bytes(shard(run).read_bytes()[:-3])
    with refuses(HeldOutSplitError, match="damaged"):
        read(run)


def test_fewer_examples_than_described_are_found(run):
    (length,) = struct.unpack("<Q", shard(run).read_bytes()[:8])
    shard(run).write_bytes(shard(run).read_bytes()[: 8 + 4 + length + 4])
    with refuses(HeldOutSplitError, match=r"have 3 examples, but dataset\.json says 5"):
        read(run)


def test_a_regressions_labels_are_numbers(table_run):
    labels = np.array([1.5, -2.0, 1 / 3, 0.0])
    split = read(table_run(labels))
    assert split.family == "regression"
    assert split.labels.tolist() == labels.astype(np.float32).tolist()
    # A contender may have read the label with all digits.
    outcome = split.outcome(Values(split.keys[::-1], labels[::-1], [4, 3, 2, 1]))
    assert outcome.values.tolist() == [1, 2, 3, 4]
    assert outcome.labels.tolist() == split.labels.tolist()


def test_other_labels_of_a_regression_are_named(table_run):
    split = read(table_run(np.array([1.5, -2.0])))
    message = (
        "2 keys of the test split: 'row-00001'; 'row-00001' is -2 in the dataset and 7 in the pred"
    )
    with refuses(HeldOutSplitError, match=message):
        split.outcome(Values(split.keys, [1.5, 7], [0, 0]))


def test_values_for_classes_are_refused(run):
    with refuses(HeldOutSplitError, match="predicts values; the dataset's label has classes"):
        read(run).outcome(Values(KEYS, np.zeros(5), np.zeros(5)))


def test_classes_for_values_are_refused(table_run):
    run = table_run(np.zeros(5))
    with refuses(HeldOutSplitError, match="predicts classes; the dataset's label has values"):
        read(run).outcome(predicted(run))
