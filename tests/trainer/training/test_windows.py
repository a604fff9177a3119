"""The order of examples on disk: windows of blocks, read before their batches come."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import config

from trainer.training import windows

ROWS, ROW_BYTES, SIZE = 1000, 100, 8


@pytest.fixture
def own(monkeypatch):
    """Examples of 100 bytes, in blocks of ten and windows of twelve batches of eight."""
    monkeypatch.setattr(windows, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(windows, "WINDOW_BYTES", 12 * SIZE * ROW_BYTES)
    read = []
    return SimpleNamespace(
        rows=ROWS,
        row_bytes=ROW_BYTES,
        read_ahead=lambda each: read.append(each.copy()),
        read=read,
        window=lambda places: [places],
        gather=lambda found, places: tf.gather(found[0], places),
    )


def epoch(own, number, first=0, count=ROWS // SIZE):
    """Index and places of each batch, as places are what `own` has."""
    seeds, following = (tf.stack([7, number + n]) for n in range(2))
    return windows.shuffled(own, seeds, following, SIZE, tf.constant(first, tf.int64), count)


def examples(batches):
    return np.concatenate([places for _, places in batches.as_numpy_iterator()])


def test_every_example_comes_once(own):
    assert sorted(examples(epoch(own, 0))) == list(range(ROWS))


def test_a_window_mixes_blocks_from_anywhere(own):
    window = examples(epoch(own, 0))[: 12 * SIZE]
    blocks = np.unique(window // 10)
    assert 9 < len(blocks) < 12
    assert np.ptp(blocks) > 50
    assert len(np.unique(window[:SIZE] // 10)) > 3


def test_epochs_have_other_blocks_and_orders(own):
    first, second = (examples(epoch(own, number)) for number in range(2))
    assert not np.array_equal(np.unique(first[:96] // 10), np.unique(second[:96] // 10))
    np.testing.assert_array_equal(first, examples(epoch(own, 0)))


def test_a_restart_within_a_window_reads_no_earlier_one(own):
    whole = examples(epoch(own, 0)).reshape(-1, SIZE)
    own.read.clear()
    rest = epoch(own, 0, first=30)
    assert [index for index, _ in rest.as_numpy_iterator()] == list(range(30, 125))
    np.testing.assert_array_equal(examples(epoch(own, 0, 30)).reshape(-1, SIZE), whole[30:])
    assert set(own.read[0]) == set(whole[24:36].ravel())


def test_a_split_is_read_in_order_and_again(own):
    """The last example fills the last batch."""
    places = tf.minimum(tf.range(128 * SIZE, dtype=tf.int64), ROWS - 1)
    for _ in range(2):
        own.read.clear()
        found = examples(windows.in_order(own, places, SIZE))
        assert found.tolist() == [*range(ROWS), *[ROWS - 1] * 24]
        assert own.read[0].tolist() == list(range(12 * SIZE))
        assert own.read[-1].tolist() == own.read[0].tolist(), "the next pass begins while this ends"


@pytest.fixture
def _deterministic():
    """Operations are deterministic, as in a training: its pipeline waits for every function that
    has a state.
    """
    before = config.is_op_determinism_enabled()
    tf.config.experimental.enable_op_determinism()
    tf.random.set_seed(1)
    yield
    if not before:
        config.disable_op_determinism()


@pytest.mark.usefixtures("_deterministic")
def test_the_next_window_is_read_before_its_batches_come(own):
    """The next epoch's first follows the last; no more than two ahead, which would fill the
    memory.
    """
    epochs = tf.data.Dataset.range(2, output_type=tf.int32)
    batches = iter(epochs.flat_map(lambda number: epoch(own, number)))
    for taken in range(125):
        next(batches)
        if taken % 12 == 0:
            before = -1
            while len(own.read) > before:
                before = len(own.read)
                time.sleep(0.1)
            assert taken // 12 + 2 <= len(own.read) <= taken // 12 + 4
    next(batches)
    assert set(own.read[11]) == set(own.read[12])
