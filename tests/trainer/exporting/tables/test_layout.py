"""Every row has one place, whatever the ranges; shards are near-equal pieces of a split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.exporting import ExportError
from trainer.exporting.tables.layout import (
    Layout,
    Slice,
    SortedFile,
    cut,
    pieces,
    range_bits,
    ranges_of,
    rows_at_once,
)

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(INT64, min_size=1), st.integers(0, 16))
def test_ranges_follow_the_order_of_fingerprints(fingerprints, bits):
    rising = np.sort(np.array(fingerprints))
    ranges = ranges_of(rising, bits)
    assert (np.diff(ranges) >= 0).all()
    assert 0 <= ranges[0] <= ranges[-1] < 2**bits
    width = 2 ** (64 - bits)
    assert ranges.tolist() == [(value + 2**63) // width for value in rising.tolist()]


def test_the_number_of_ranges_grows_with_the_table_and_not_the_rows_held():
    small, large = 1_000_000 * 35, 4_000_000 * 35
    assert range_bits(100) == 0
    assert range_bits(large) == range_bits(small) + 2
    assert rows_at_once(small, 1_000_000) == rows_at_once(large, 4_000_000)
    assert rows_at_once(10**9, 1) == 1


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any),
    st.data(),
)
def test_pieces_are_the_rows_between_two_places(rows, data):
    total = sum(rows)
    start = data.draw(st.integers(0, total - 1))
    end = data.draw(st.integers(start + 1, total))
    numbered = [(range_, i) for range_, count in enumerate(rows) for i in range(count)]
    found = [
        (range_, i) for range_, first, last in pieces(rows, start, end) for i in range(first, last)
    ]
    assert found == numbered[start:end]


@given(st.integers(1, 2000), st.integers(1, 300), st.integers(1, 300), st.integers(1, 50))
def test_shards_are_near_equal_and_leave_no_row_out(train, validation, test, shards):
    rows = {"train": train, "validation": validation, "test": test}
    if shards > train:
        with pytest.raises(ExportError, match=f"--shards {shards} is more than the {train} rows"):
            cut(rows, shards)
        return
    work = cut(rows, shards)
    for split, count in rows.items():
        edges = [(piece.start, piece.end) for piece in work if piece.split == split]
        assert [edges[0][0], *(end for _, end in edges)] == [*(a for a, _ in edges), count]
        sizes = [end - start for start, end in edges]
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) > 0
    assert sum(piece.split == "train" for piece in work) == shards


def test_a_part_is_found_in_its_file():
    rows = np.array([[2, 0, 1], [0, 3, 0]])
    ends = np.array([[20, 20, 30], [30, 60, 60]])
    layout = Layout((SortedFile("a", rows, ends), SortedFile("b", rows * 0, ends * 0)))
    assert layout.slices(0, 0) == [Slice("a", 0, 20)]
    assert layout.slices(0, 1) == []
    assert layout.slices(1, 1) == [Slice("a", 30, 30)]
    assert layout.rows(1).tolist() == [0, 3]
