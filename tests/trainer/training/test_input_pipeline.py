"""The input pipeline: who sees which example when. Labels are numbers of examples here."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from testbed.trainings import write_dataset
from trainer import dataset_description
from trainer.training import TrainingError, kept
from trainer.training import input_pipeline as input_module
from trainer.training.cluster import Cluster
from trainer.training.input_pipeline import Input, divide
from trellis_contracts.dataset import Shard
from trellis_contracts.hyperparameters import Hyperparameters

TRAIN, VALIDATION = 103, 29
FILES = {"train": [40, 33, 30], "validation": [VALIDATION], "test": [5]}
EPOCHS = 3


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Images whose pixels tell their number, as their label does."""
    count = sum(sum(sizes) for sizes in FILES.values())
    numbers = np.arange(count)
    images = np.broadcast_to(numbers[:, None, None, None], (count, 8, 8, 1)).astype(np.uint8)
    return write_dataset(tmp_path_factory.mktemp("d") / "d", images, numbers, files=FILES)


@pytest.fixture(scope="module", autouse=True)
def _deterministic():
    """Make TensorFlow deterministic, like trainer.training.distribution.connect."""
    tf.random.set_seed(1)


@pytest.fixture(scope="module", params=["kept in memory", "kept on disk", "read in every epoch"])
def memory(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "kept in memory":
            patch.setattr(kept, "free_memory", lambda: 0)
        if request.param == "read in every epoch":
            patch.setattr(kept, "free_disk", lambda: 0)
            patch.setattr(input_module, "SHUFFLE_BYTES", 1 << 20)
        yield request.param


def make(address, workers=1, local=1, seed=0, **hyperparameters):
    cluster = Cluster({f"worker:{n}": "" for n in range(workers)}, "worker:0")
    distribution = SimpleNamespace(cluster=cluster, local_replicas=local, replicas=workers * local)
    h = Hyperparameters(**{"batch_size": 8} | hyperparameters)
    return Input(address, dataset_description.load(address), distribution, h, seed, EPOCHS)


def contexts(workers):
    return [tf.distribute.InputContext(workers, worker, workers) for worker in range(workers)]


def train_labels(data, context, first_step=0):
    """(batches, batch size) numbers of the examples, in their order; each has its own image."""
    found = []
    for inputs, labels, _ in data.train_batches(context, first_step).as_numpy_iterator():
        np.testing.assert_array_equal(inputs["image"][:, 0, 0, 0], labels)
        found.append(labels)
    return np.array(found)


@pytest.fixture(scope="module")
def whole(address, memory):
    """The labels of a training on one worker, from its first step."""
    return train_labels(make(address), contexts(1)[0])


def test_in_every_epoch_workers_see_different_examples(address, memory):
    data = make(address, workers=3)
    seen = np.stack([train_labels(data, context) for context in contexts(3)])
    assert seen.shape == (3, EPOCHS * data.steps_per_epoch, 8)
    for epoch in np.split(seen, EPOCHS, axis=1):
        assert len(np.unique(epoch)) == epoch.size > 0.75 * TRAIN
        assert epoch.max() < TRAIN


def test_no_process_asks_the_others_in_each_step_for_another_batch(address):
    """A strategy asks only if the dataset may end."""
    data = make(address)
    data._distribution.strategy = SimpleNamespace(
        distribute_datasets_from_function=lambda batches: [batches(contexts(1)[0]).cardinality()]
    )

    for batches in (data.train(0), data.evaluation("validation")):
        assert next(batches) == tf.data.INFINITE_CARDINALITY


def test_each_worker_of_parameter_servers_takes_the_whole_split_in_an_order_of_its_own(address):
    def passes(worker):
        context = tf.distribute.InputContext(2, worker, 1)
        batches = make(address).passes(context, 5).take(2 * (TRAIN // 8)).as_numpy_iterator()
        return np.array([labels for _, labels, _ in batches]).reshape(2, -1)

    orders = [order.tolist() for worker in range(2) for order in passes(worker)]
    assert all(len(set(order)) == 8 * (TRAIN // 8) for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    assert passes(1).tolist() == orders[2:]


@pytest.mark.parametrize(
    ("after", "told"),
    [([], "decoded again in every epoch"), ([kept.MEMORY], "kept in memory; not on disk")],
)
def test_a_disk_that_others_fill_is_told_and_left(address, monkeypatch, capsys, after, told):
    full = kept.Place("on disk", lambda: open("/dev/full", "wb", buffering=0))  # noqa: SIM115
    monkeypatch.setattr(kept, "places", lambda size: [full, *after])
    labels = train_labels(make(address), contexts(1)[0])
    assert all(len(np.unique(epoch)) == epoch.size for epoch in np.split(labels, EPOCHS))
    (line,) = [text for text in capsys.readouterr().out.splitlines() if "of examples" in text]
    assert told in line
    assert line.endswith("; not on disk: No space left on device")


def test_the_order_is_a_function_of_seed_and_epoch(address, whole):
    context = contexts(1)[0]
    np.testing.assert_array_equal(whole, train_labels(make(address), context))
    assert not np.array_equal(whole, train_labels(make(address, seed=6), context))
    epochs = np.split(whole, EPOCHS)
    assert not np.array_equal(epochs[0], epochs[1])


def test_a_restart_goes_on_where_the_checkpoint_was_made(address, whole):
    data = make(address)
    assert data.steps_per_epoch == 12
    for step in (12, 23, 36):
        rest = train_labels(data, contexts(1)[0], first_step=step)
        np.testing.assert_array_equal(rest.reshape(-1, 8), whole[step:], f"from step {step}")


def test_a_restart_augments_as_before(address):
    flags = {"augment": True, "flip": True, "mix": "mixup"}

    def batches(first_step):
        data = make(address, **flags)  # as a new process would
        found = data.train_batches(contexts(1)[0], first_step).as_numpy_iterator()
        return [tf.nest.flatten(batch) for batch in found]

    rest, whole = batches(14), batches(0)
    assert len(whole) == len(rest) + 14
    for ours, before in zip(rest, whole[14:], strict=True):
        for one, other in zip(ours, before, strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_keys_of_a_step_are_those_of_its_examples(address, whole):
    """Also of augmented and mixed images: an example's label is its number, as its key tells."""
    mixed = make(address, augment=True, mix="mixup")
    for step in (0, 20):
        assert [int(key[7:12]) for key in mixed.keys(step)] == whole[step].tolist(), step


def test_each_device_of_a_machine_takes_the_next_batch(address):
    data = make(address, local=2)
    assert data.global_batch == 16
    assert data.steps_per_epoch == 6
    assert len(train_labels(data, contexts(1)[0])) == 2 * 6 * EPOCHS
    whole = train_labels(data, contexts(1)[0])
    np.testing.assert_array_equal(train_labels(data, contexts(1)[0], 4), whole[2 * 4 :])


def test_evaluation_takes_every_example_exactly_once(address, memory):
    """Twice in turn; the last batch of one worker is full of what only fills it."""
    data = make(address, workers=2, local=2, batch_size=5)
    steps = data.evaluation_steps("validation") * 2
    seen = [], []
    for context in contexts(2):
        batches = data.evaluation_batches(context, "validation").take(2 * steps)
        for step, (_, labels, weights) in enumerate(batches.as_numpy_iterator()):
            assert len(labels) == 5
            seen[step // steps].extend(labels[weights == 1])
    assert [sorted(each) for each in seen] == [list(range(TRAIN, TRAIN + VALIDATION))] * 2


def test_a_batch_larger_than_the_split_is_refused_with_what_fits(address):
    assert make(address, 2, batch_size=51).steps_per_epoch == 1
    with pytest.raises(TrainingError, match=r"batch of 104, more than the 103 .*at most 51"):
        make(address, 2, batch_size=52)


def test_fewer_files_than_workers_are_told(address, capsys):
    """Their reading does not become faster with workers."""
    make(address, 4)
    assert "train: 3 files, fewer than 4 workers" in capsys.readouterr().out
    make(address, 1)
    assert "fewer than" not in capsys.readouterr().out


def test_whole_files_are_shares_where_they_are_even():
    def shards(*sizes):
        return [Shard(f"{i}", size, 1) for i, size in enumerate(sizes)]

    even = divide(shards(360, 359, 359, 359), 2)
    assert (even.whole_files, even.smallest, even.largest) == (True, 718, 719)
    uneven = divide(shards(360, 359, 300, 300), 4)
    assert (uneven.whole_files, uneven.smallest, uneven.largest) == (False, 329, 330)
    fewer_files_than_workers = divide(shards(10), 3)
    assert (fewer_files_than_workers.smallest, fewer_files_than_workers.largest) == (3, 4)
