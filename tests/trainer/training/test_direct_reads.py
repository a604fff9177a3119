"""Reads of a file on disk past the page cache."""

import os
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.training import direct_reads
from trainer.training.direct_reads import Reader

SIZE = 70_001
BYTES = np.random.default_rng(0).integers(0, 256, SIZE, np.uint8)


@pytest.fixture(scope="module")
def file():
    """A file on disk, not in memory as /tmp may be."""
    with tempfile.TemporaryFile(dir=os.path.dirname(__file__)) as file:
        file.write(BYTES.data)
        file.flush()
        yield file


@pytest.mark.parametrize("row", [7, 4096], ids=["page cache", "past it"])
@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(sorted), max_size=5))
def test_the_parts_come_one_after_the_other(file, row, parts):
    found = Reader(file, row).read(parts)
    assert found.tolist() == np.concatenate([BYTES[:0], *(BYTES[a:b] for a, b in parts)]).tolist()


def test_whole_pages_arrive_in_their_place(file, monkeypatch):
    """Without the copy that other parts take."""
    reader = Reader(file, 4096)
    monkeypatch.setattr(reader, "_around", lambda *_: pytest.fail("copied"))
    found = reader.read([(8192, 16384), (0, 4096)])
    assert found.tolist() == [*BYTES[8192:16384], *BYTES[:4096]]


def test_a_file_system_without_such_reads_gives_the_same(file, monkeypatch):
    def refuse(*_):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "open", refuse)
    assert Reader(file, 4096).read([(5, 9000)]).tolist() == BYTES[5:9000].tolist()


def test_memory_is_used_again_when_nothing_refers_to_it(file):
    reader = Reader(file, 4096)
    first = reader.read([(0, 4096)])
    view = first.view(np.int32)
    second = reader.read([(4096, 8192)])
    assert view.tobytes() == BYTES[:4096].tobytes()
    place = first.ctypes.data
    del first
    assert reader.read([(0, 100)]).ctypes.data != place, "a view refers to it"
    del view
    assert reader.read([(0, 100)]).ctypes.data == place
    assert second.tobytes() == BYTES[4096:8192].tobytes()


def test_what_was_read_is_counted(file):
    before = direct_reads.COUNT.bytes
    Reader(file, 7).read([(0, 100), (50, 60)])
    assert direct_reads.COUNT.bytes - before == 110


@pytest.mark.parametrize("row", [7, 4096])
def test_a_file_that_was_cut_is_an_error(file, row):
    with pytest.raises(OSError, match="ends at"):
        Reader(file, row).read([(SIZE - 10, SIZE + 1)])
