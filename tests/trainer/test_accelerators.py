"""The configurations that benchmarks/accelerators.py measures."""

import numpy as np
import pytest

from benchmarks.accelerators import MODELS, ways
from testbed.trainings import write_dataset
from trainer import dataset_description, models
from trainer.training import distribution
from trellis_contracts.hyperparameters import Hyperparameters


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    files = {"train": [2], "validation": [1], "test": [1]}
    images = np.zeros((4, 32, 32, 3), np.uint8)
    address = write_dataset(tmp_path_factory.mktemp("a") / "d", images, [0, 1, 0, 1], files=files)
    return dataset_description.load(address)


@pytest.mark.parametrize(
    "name",
    # Both networks of Keras have max pooling, and this one takes the longest to build.
    [pytest.param(n, marks=[pytest.mark.slow] if n == "DenseNet121" else []) for n in MODELS],
)
def test_xla_is_measured_with_every_model_that_it_compiles(name, dataset):
    flags = dict(MODELS[name])
    model = models.build(flags.pop("model"), dataset, Hyperparameters(**flags))

    compiled = any("jit_compile" in way.flags for way in ways(name, gpus=1))

    assert compiled == (distribution.not_compiled(model) is None)


def test_variables_of_gpus_are_not_measured_without_any():
    assert not any(way.environment for name in MODELS for way in ways(name, gpus=0))
