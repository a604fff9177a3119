"""Datasets small enough to train on in a second, and trainings as processes."""

import json
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from sklearn.datasets import load_digits

from testbed.tables import mixed_rows, write_table
from testbed.trainings import MODULE, Job, arguments, write_dataset
from tests.trainer.training.imbalanced import imbalanced
from trainer.estimators import run as estimators
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags


@pytest.fixture(scope="session")
def digits_arrays() -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's digits, (1797, 8, 8, 1) uint8 and (1797,) class, in a random order."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = (digits.images[..., np.newaxis] * 255 / 16).astype(np.uint8)
    return images[order], digits.target[order]


@pytest.fixture(scope="session")
def digits(digits_arrays, tmp_path_factory) -> str:
    """All digits."""
    files = {"train": [360, 359, 359, 359], "validation": [180], "test": [180]}
    folder = tmp_path_factory.mktemp("datasets") / "digits"
    return write_dataset(folder, *digits_arrays, files=files)


@pytest.fixture(scope="session")
def few_digits(digits_arrays, tmp_path_factory) -> str:
    """242 digits in files of uneven sizes: a training of many epochs takes a second."""
    images, labels = digits_arrays
    files = {"train": [120, 41], "validation": [37], "test": [44]}
    folder = tmp_path_factory.mktemp("datasets") / "few_digits"
    return write_dataset(folder, images, labels, files=files)


@pytest.fixture(scope="session")
def few_rows(tmp_path_factory) -> str:
    """242 rows with features of every kind, in files of uneven sizes; two classes."""
    columns, labels = mixed_rows(242)
    files = {"train": [120, 41], "validation": [37], "test": [44]}
    folder = tmp_path_factory.mktemp("datasets") / "few_rows"
    return write_table(folder, columns, labels, files=files, vocabulary=20)


@pytest.fixture(scope="module")
def make_job(tmp_path_factory) -> Iterator[Callable[..., Job]]:
    """Makes Jobs: names of the processes, dataset, flags; ends what is left of them."""
    made: list[Job] = []

    def make(
        names: Sequence[str], dataset: str, program: Sequence[str] = MODULE, **flags: object
    ) -> Job:
        folder = tmp_path_factory.mktemp("job")
        made.append(Job(folder, names, [*program, *arguments(dataset, **flags)]))
        return made[-1]

    yield make
    for job in made:
        job.end()


@pytest.fixture
def train(tmp_path):
    """A function: dataset, output folder, flags -> metrics.json."""

    def train(dataset, output="out", task="binary_classification", **flags):
        argv = arguments(dataset, output=tmp_path / output, task=task, **flags)
        settings = parse_flags(argv, "")
        assert estimators.train(settings, checked_dataset(settings)) == 0
        return json.loads(settings.places.metrics.read_text())

    return train


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """1,000 rows, of which 33 are rare."""
    files = {"train": [300, 300], "validation": [200], "test": [200]}
    return imbalanced(tmp_path_factory.mktemp("d") / "rare", 1000, 33, files)
