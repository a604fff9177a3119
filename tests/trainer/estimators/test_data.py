"""A dataset as a group's own `fit` reads it."""

import numpy as np
import pytest

from testbed.tables import pictured_rows, write_table
from trainer import dataset_description
from trainer.estimators.data import Data


@pytest.fixture(scope="module")
def columns_and_data(tmp_path_factory):
    """Rows with an image each, in several files, and the data of their dataset."""
    columns, labels = pictured_rows(50)
    files = {"train": [17, 13], "validation": [10], "test": [10]}
    folder = tmp_path_factory.mktemp("data") / "rows"
    address = write_table(folder, columns, labels, files=files)
    return columns, Data(address, dataset_description.load(address))


@pytest.mark.parametrize(("split", "sizes"), [("train", [8, 8, 8, 6]), ("validation", [8, 2])])
def test_batches_are_the_split_part_by_part(columns_and_data, split, sizes):
    """Across the ends of files, in the same order each time."""
    _, data = columns_and_data
    for _ in range(2):
        parts = list(data.batches(split, 8))
        assert [len(part) for part in parts] == sizes
        whole = getattr(data, split)
        for name in ("keys", "labels", "weights"):
            together = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_array_equal(together, getattr(whole, name))
        np.testing.assert_array_equal(np.concatenate([p.numpy() for p in parts]), whole.numpy())
        np.testing.assert_array_equal(np.concatenate([p.images() for p in parts]), whole.images())


def test_images_of_a_batch_are_decoded(columns_and_data):
    columns, data = columns_and_data
    ((_, pictures),) = [values for values in columns.values() if values[0] == "image"]
    part = next(data.batches("train", 8))
    expected = np.stack([pictures[int(key)] for key in part.keys])
    np.testing.assert_array_equal(part.images(), expected)


def test_the_test_split_is_not_for_learning(columns_and_data):
    _, data = columns_and_data
    with pytest.raises(ValueError, match="'test' is no split to learn from"):
        next(data.batches("test", 8))
