"""The order of examples on disk: windows of blocks, read before their batches come."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

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
    seeds, following = ([7, number + n] for n in range(2))
    first = tf.constant(first, tf.int64)
    return windows.shuffled(own, tf.constant(seeds), tf.constant(following), SIZE, first, count)


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


def test_the_next_window_is_read_before_its_batches_come():
    """The next epoch's first follows the last; no more than two ahead, which would fill the memory.
    It holds in a deterministic training, whose pipeline waits for every function that has a state.
    """
    ended = subprocess.run([sys.executable, "-c", AHEAD], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    for window, read in enumerate(map(int, ended.stdout.split())):
        assert window + 2 <= read <= window + 4


AHEAD = """
import time
from types import SimpleNamespace
import tensorflow as tf
from trainer.training import windows

tf.config.experimental.enable_op_determinism()
tf.random.set_seed(1)
windows.BLOCK_BYTES, windows.WINDOW_BYTES = 1000, 9600
read = []
own = SimpleNamespace(
    rows=1000,
    row_bytes=100,
    read_ahead=lambda each: read.append(set(each)),
    window=lambda places: [places],
    gather=lambda found, places: tf.gather(found[0], places),
)

def epoch(number):
    zero = tf.constant(0, tf.int64)
    return windows.shuffled(own, tf.stack([7, number]), tf.stack([7, number + 1]), 8, zero, 125)

batches = iter(tf.data.Dataset.range(2, output_type=tf.int32).flat_map(epoch))
for taken in range(125):
    next(batches)
    if taken % 12 == 0:
        before = -1
        while len(read) > before:
            before = len(read)
            time.sleep(0.1)
        print(len(read))
next(batches)
assert read[11] == read[12]
"""
