"""Examples that are kept in memory or on disk."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.training import kept

PLACES = pytest.mark.parametrize("place", [kept.MEMORY, kept.DISK], ids=lambda place: place.name)


def batches(rows, size):
    """Batches of a vector, an image, sequences of 0 to 3 numbers, a string, and a number."""
    for first in range(0, rows, size):
        places = np.arange(first, min(rows, first + size))
        yield (
            {
                "vector": tf.constant(places[:, None] + np.array([0.0, 0.5]), tf.float32),
                "image": tf.constant(
                    np.broadcast_to(places[:, None, None], (len(places), 3, 2)) % 251, tf.uint8
                ),
                "sequence": tf.ragged.constant(
                    [[float(n)] * (n % 4) for n in places], ragged_rank=1
                ),
            },
            tf.constant([str(n) for n in places]),
            tf.constant(places, tf.int64),
        )


def gathered(own, places):
    """Examples at these places: in memory of all, on disk of a window that has those alone."""
    places = tf.constant(places, tf.int64)
    if own.on_disk:
        return own.gather(own.window(places), tf.range(tf.size(places)))
    return own.gather(own.tensors(), places)


@PLACES
@settings(max_examples=10)
@given(st.integers(1, 40), st.integers(1, 12), st.data())
def test_a_batch_is_the_examples_at_its_places(place, rows, size, data):
    own = kept.keep(batches(rows, size), place)
    places = data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=9))
    inputs, names, numbers = gathered(own, places)
    assert own.rows == rows
    assert numbers.numpy().tolist() == places
    assert names.numpy().tolist() == [str(n).encode() for n in places]
    assert inputs["vector"].numpy().tolist() == [[n, n + 0.5] for n in places]
    assert inputs["image"].numpy().tolist() == [[[n % 251] * 2] * 3 for n in places]
    assert inputs["sequence"].to_list() == [[float(n)] * (n % 4) for n in places]


@PLACES
def test_of_no_example_nothing_is_kept(place):
    assert kept.keep([], place).rows == 0


@PLACES
def test_sequences_may_all_be_empty(place):
    empty = tf.RaggedTensor.from_row_lengths(tf.zeros([0]), [0, 0])
    own = kept.keep([({"s": empty}, tf.zeros([2]))], place)
    inputs, _ = gathered(own, [1])
    assert inputs["s"].to_list() == [[]]


def test_a_full_disk_is_an_error_while_reading():
    """Never a signal in the middle of the training."""
    full = kept.Place("on disk", lambda: open("/dev/full", "wb", buffering=0))  # noqa: SIM115
    with pytest.raises(OSError, match="No space left"):
        kept.keep(batches(4, 2), full)


def test_a_dataset_has_no_copy_of_what_is_kept():
    """tf.data copies tensors that a dataset's function captures: 64 MB would be 128."""
    own = kept.keep([tf.ones([1024, 1 << 16], tf.uint8)], kept.MEMORY)

    def batches(_):
        every = own.tensors()
        return tf.data.Dataset.range(1024).map(lambda row: own.gather(every, [row]))

    before = anonymous_bytes()
    found = next(iter(tf.data.Dataset.range(1).flat_map(batches)))
    assert found.shape == (1, 1 << 16)
    assert anonymous_bytes() - before < 32 << 20


def anonymous_bytes():
    """Memory of this process alone, without files that it has mapped."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:"))


def test_examples_on_disk_are_read_ahead_of_their_window(monkeypatch):
    """Those that nobody takes are forgotten, the oldest first."""
    own = kept.keep(batches(40, 8), kept.DISK)
    read = []
    for column in own._columns:
        do = column.read
        monkeypatch.setattr(column, "read", lambda runs, do=do: (read.append(runs), do(runs))[1])
    for window in ([0, 1, 2, 30, 31], [5, 6], [5, 6], [9], [12, 13]):
        own.read_ahead(np.array(window))
    found = own.window(tf.constant([5, 6], tf.int64))
    each = len(own._columns)
    assert read[each : 2 * each] == [[(5, 7)]] * each
    assert len(own._ahead) == 2
    _, _, numbers = own.gather(found, tf.constant([1, 0, 0]))
    assert numbers.numpy().tolist() == [6, 5, 5]
    found = own.window(tf.constant([0, 1, 2, 30, 31], tf.int64))
    _, names, _ = own.gather(found, tf.constant([4, 0]))
    assert names.numpy().tolist() == [b"31", b"0"]
    assert read.count([(0, 3), (30, 32)]) == 2 * each, "it was forgotten, and read when asked for"


@PLACES
def test_no_file_is_left_however_the_process_ends(place, monkeypatch, tmp_path):
    """A file has no name even while the examples are kept."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    own = kept.keep([tf.zeros([1000, 1000])], place)
    assert not list(tmp_path.iterdir())
    assert own.rows == 1000


@pytest.mark.parametrize(
    ("memory", "disk", "size", "names"),
    [
        (10, 100, 5, ["in memory", "on disk"]),
        (10, 100, 6, ["on disk"]),
        (10, 100, 81, []),
        (10, 4, 5, ["in memory"]),
    ],
)
def test_what_fits_in_half_of_the_free_memory_is_kept_there(monkeypatch, memory, disk, size, names):
    monkeypatch.setattr(kept, "free_memory", lambda: memory)
    monkeypatch.setattr(kept, "free_disk", lambda: disk)
    assert [place.name for place in kept.places(size)] == names


@pytest.fixture
def machine(tmp_path):
    """A machine with 8 GB available, and a process in `group`."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\n")

    def free(group="0::/", folder="", **files):
        (tmp_path / "proc/self/cgroup").write_text(f"12:cpu,cpuacct:/elsewhere\n{group}\n")
        for name, text in files.items():
            file = tmp_path / "cgroup" / folder / name.replace("-", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return kept.free_memory(tmp_path / "proc", tmp_path / "cgroup")

    return free


LIMITED = {
    "memory-max": "5000\n",
    "memory-current": "3000\n",
    "memory-stat": "anon 1500\ninactive_file 700\n",
}
LIMITED_OLDER = {
    "memory-limit_in_bytes": "4000\n",
    "memory-usage_in_bytes": "1000\n",
    "memory-stat": "total_inactive_file 100\n",
}


def test_free_memory_is_what_the_machine_has_available(machine):
    assert machine() == 8_192_000_000


def test_a_container_leaves_less(machine):
    """What it has read from files is dropped when memory is wanted."""
    assert machine(**LIMITED) == 5000 - 3000 + 700
    assert machine(**LIMITED | {"memory-max": "max\n"}) == 8_192_000_000


def test_a_container_of_the_older_kind(machine):
    assert machine("5:memory:/", "memory", **LIMITED_OLDER) == 3100


@pytest.mark.parametrize(
    ("group", "root", "limited", "left"),
    [("0::", "", LIMITED, 2700), ("5:memory:", "memory/", LIMITED_OLDER, 3100)],
    ids=["version 2", "version 1"],
)
def test_a_job_has_no_more_than_the_groups_around_it(machine, group, root, limited, left):
    """Slurm and systemd limit a group within others, without a container."""
    assert machine(f"{group}/job/step", f"{root}job/step", **limited) == left
    (current,) = (name for name in limited if name in ("memory-current", "memory-usage_in_bytes"))
    fuller = limited | {current: "3900"}
    assert machine(f"{group}/job/step", f"{root}job", **fuller) < left
    assert machine(f"{group}/other", f"{root}job", **fuller) == 8_192_000_000


def test_a_group_named_from_outside_of_its_container_is_not_there(machine):
    assert machine("0::/docker/4a67", **LIMITED) == 2700
