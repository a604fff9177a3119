"""Rows of a table on their way to a model: nothing is lost, and order is known.

Order and shares are the pipeline's: test_input_pipeline.py tries them with more workers and steps.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from testbed.tables import write_table
from trainer import dataset_description
from trainer.training import TrainingError, kept, records
from trainer.training import input_pipeline as input_module
from trainer.training.input_pipeline import Input
from trellis_contracts.dataset import Shard
from trellis_contracts.dataset_features import CATEGORICAL, IMAGE, NUMERIC, SEQUENCE, TIMESTAMP
from trellis_contracts.hyperparameters import Hyperparameters

TRAIN, VALIDATION = 103, 29
FILES = {"train": [40, 33, 30], "validation": [VALIDATION], "test": [5]}
EPOCHS = 2


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Rows whose every feature tells their number, as label and weight do; sequences by length
    too.
    """
    numbers = range(sum(sum(sizes) for sizes in FILES.values()))
    columns = {
        "x": (NUMERIC, [None if n == 7 else n for n in numbers]),
        "c": (CATEGORICAL, [f"{n:03}" for n in numbers]),
        "t": (TIMESTAMP, [n * 10**6 for n in numbers]),
        "s": (SEQUENCE, [[float(n)] * (n % 4) for n in numbers]),
        "p": (IMAGE, [np.full((3, 2, 1), n, np.uint8) for n in numbers]),
    }
    folder = tmp_path_factory.mktemp("d") / "d"
    weights = [n / 2 for n in numbers]
    return write_table(
        folder, columns, list(numbers), task="regression", files=FILES, weights=weights
    )


@pytest.fixture(autouse=True)
def _deterministic():
    """Make TensorFlow deterministic, like trainer.training.distribution.connect."""
    tf.random.set_seed(1)


@pytest.fixture(params=["kept in memory", "kept on disk", "read in every epoch"])
def memory(request, monkeypatch):
    if request.param != "kept in memory":
        monkeypatch.setattr(kept, "free_memory", lambda: 0)
    if request.param == "read in every epoch":
        monkeypatch.setattr(kept, "free_disk", lambda: 0)
        monkeypatch.setattr(input_module, "SHUFFLE_BYTES", 1 << 12)


def make(address, workers=1, local=1, seed=0, batch=8, dataset=None, names=None):
    distribution = SimpleNamespace(
        cluster=range(workers), local_replicas=local, replicas=workers * local
    )
    dataset = dataset or dataset_description.load(address)
    h = Hyperparameters(batch_size=batch)
    return Input(address, dataset, distribution, h, seed, EPOCHS, names)


def contexts(workers):
    return [tf.distribute.InputContext(workers, worker, workers) for worker in range(workers)]


def labels(data, context, first_step=0):
    batches = data.train_batches(context, first_step).as_numpy_iterator()
    return np.array([numbers for _, numbers, _ in batches])


def test_a_rows_features_stay_together(address, memory):
    for inputs, numbers, weights in make(address).train_batches(contexts(1)[0], 0):
        inputs, numbers = {n: v.numpy() for n, v in inputs.items()}, numbers.numpy()
        # Half of the rows' numbers, by their mean over the train split.
        np.testing.assert_allclose(weights, numbers / ((TRAIN - 1) / 2), rtol=1e-6)
        x = inputs["numeric"][:, 0]
        np.testing.assert_array_equal(x[numbers != 7], numbers[numbers != 7])
        assert np.isnan(x[numbers == 7]).all()
        np.testing.assert_array_equal(inputs["timestamp"][:, 0], numbers * 10**6)
        # All terms occur once: the vocabulary is in the order of their names.
        np.testing.assert_array_equal(inputs["categorical"][:, 0], numbers + 2)
        lengths = (~np.isnan(inputs["sequence_s"])).sum(axis=1)
        np.testing.assert_array_equal(lengths, numbers % 4)
        for sequence, number in zip(inputs["sequence_s"], numbers, strict=True):
            assert set(sequence[~np.isnan(sequence)]) <= {number}
        assert inputs["image_p"].dtype == np.uint8
        pixels = np.broadcast_to(numbers[:, None, None, None], (len(numbers), 3, 2, 1))
        np.testing.assert_array_equal(inputs["image_p"], pixels)


def test_a_model_is_given_the_inputs_that_it_has_alone(address):
    names = {"numeric", "image_p"}
    data = make(address, names=names)
    for batches in (data.train_batches, data.evaluation_batches):
        first = 0 if batches == data.train_batches else "validation"
        assert all(set(inputs) == names for inputs, *_ in batches(contexts(1)[0], first).take(4))


def test_pixels_count_in_the_size_of_an_example(address):
    dataset = dataset_description.load(address)
    whole = records.Records(dataset).example_bytes
    without = records.Records(dataset, {"numeric", "categorical", "timestamp", "sequence_s"})
    assert whole - without.example_bytes == 3 * 2


def test_in_every_epoch_workers_see_different_rows(address):
    data = make(address, workers=2)
    seen = np.stack([labels(data, context) for context in contexts(2)])
    assert seen.shape == (2, EPOCHS * data.steps_per_epoch, 8)
    epochs = np.split(seen, EPOCHS, axis=1)
    for epoch in epochs:
        assert len(np.unique(epoch)) == epoch.size > 0.75 * TRAIN
        assert epoch.max() < TRAIN
    assert not np.array_equal(*epochs)


def test_a_restart_goes_on_where_the_checkpoint_was_made(address):
    data = make(address, local=2)
    whole = labels(data, contexts(1)[0])
    rest = labels(data, contexts(1)[0], first_step=7)
    np.testing.assert_array_equal(rest.reshape(-1, 8), whole[7 * 2 :])


def test_another_seed_is_another_order(address):
    first, second = (labels(make(address, seed=seed), contexts(1)[0]) for seed in (0, 1))
    assert not np.array_equal(first, second)


def test_evaluation_takes_every_row_exactly_once(address, memory):
    data = make(address, workers=2, local=2, batch=5)
    steps = data.evaluation_steps("validation") * 2
    seen = []
    for context in contexts(2):
        mine = list(data.evaluation_batches(context, "validation").take(steps).as_numpy_iterator())
        assert all(len(numbers) == 5 for _, numbers, _ in mine)
        seen += [n for _, numbers, weights in mine for n in numbers[weights == 1]]
    assert sorted(seen) == list(range(TRAIN, TRAIN + VALIDATION))


def test_fewer_rows_than_described_are_not_passed_over(address):
    dataset = dataset_description.load(address)
    more = tuple(Shard(s.name, s.examples + 10, s.bytes) for s in dataset.files["train"])
    dataset.files["train"] = more
    with pytest.raises(TrainingError, match=r"hold 103 examples, fewer than dataset\.json says"):
        make(address, dataset=dataset).train_batches(contexts(1)[0], 0)
