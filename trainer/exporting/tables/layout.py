"""Assigns rows to ranges of fingerprints, temporary files and shards.

Rows are sorted by the fingerprint of their key (equal fingerprints by key), which mixes them, and
cut into shards of nearly equal size, like images. No step holds all rows: the fingerprints are
divided into 2**bits equal ranges of about _RANGE_CELLS numbers at most, and each range is processed
by itself. Rows are first written to temporary files, sorted by range and split within each file, so
that a range is one slice of each file. The number of rows of each range in each file is then known,
and so is the position of every row in its split.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trainer.exporting import ExportError
from trainer.exporting.sharding import shard_counts
from trellis_contracts.dataset import SPLITS, shard_name

PARTIAL_FOLDER = "partial"

# Numbers, of 4 to 8 bytes, in a range of fingerprints: 125,000 rows of 32 columns.
_RANGE_CELLS = 1 << 22
MAX_BITS = 16


def range_bits(cells: int) -> int:
    """bits, for 2**bits ranges: enough for a table with this many numbers in all columns."""
    return min(MAX_BITS, math.ceil(math.log2(max(1, cells / _RANGE_CELLS))))


def rows_at_once(cells: int, rows: int) -> int:
    """Number of rows of a table to hold in memory at once.

    A quarter more than a range's: the small row group that often ends a file then joins the one
    before it, instead of becoming a temporary file of tiny parts.
    """
    return max(1, math.floor(1.25 * _RANGE_CELLS * rows / max(cells, 1)))


def ranges_of(fingerprints: np.ndarray, bits: int) -> np.ndarray:
    """(n,) int64: range of each fingerprint, 0 .. 2**bits - 1, in the order of the fingerprints."""
    if not bits:
        return np.zeros(len(fingerprints), np.int64)
    from_zero = fingerprints.view(np.uint64) ^ np.uint64(1 << 63)
    return (from_zero >> np.uint64(64 - bits)).astype(np.int64)


@dataclass(frozen=True)
class Slice:
    """A byte range of a temporary file."""

    file: str
    start: int
    size: int


@dataclass(frozen=True)
class SortedFile:
    """A temporary file of rows, in parts by range and, within a range, by split.

    rows, ends: (ranges, splits) int64: number of rows of each part, and its end in bytes.
    """

    name: str
    rows: np.ndarray
    ends: np.ndarray

    def slice(self, range_: int, split: int) -> Slice | None:
        """The bytes of a part; None if it has no rows."""
        if not self.rows[range_, split]:
            return None
        part = range_ * len(SPLITS) + split
        start = int(self.ends.flat[part - 1]) if part else 0
        return Slice(self.name, start, int(self.ends.flat[part]) - start)


@dataclass(frozen=True)
class Layout:
    """All temporary files of a table."""

    files: tuple[SortedFile, ...]

    @property
    def ranges(self) -> int:
        """Number of ranges."""
        return len(self.files[0].rows)

    def rows(self, split: int) -> np.ndarray:
        """(ranges,) number of rows of a split in each range."""
        return np.sum([file.rows[:, split] for file in self.files], axis=0)

    def slices(self, range_: int, split: int) -> list[Slice]:
        """The bytes of one range and split in all files."""
        found = (file.slice(range_, split) for file in self.files)
        return [slice_ for slice_ in found if slice_]


@dataclass(frozen=True)
class ShardWork:
    """One TFRecord file to write: rows `start` to `end` (exclusive) of a split."""

    name: str
    split: str
    position: str  # "3 of 6", for the progress lines
    start: int
    end: int


def cut(rows: dict[str, int], train_shards: int) -> list[ShardWork]:
    """The shards of a table with this many rows in each split, train first. Raises ExportError."""
    if train_shards > rows["train"]:
        raise ExportError(
            f"--shards {train_shards} is more than the {rows['train']} rows of the train split"
        )
    counts = {
        split: min(count, rows[split]) for split, count in shard_counts(rows, train_shards).items()
    }
    total = sum(counts.values())
    work: list[ShardWork] = []
    for split, count in counts.items():
        if not count:
            continue  # of a dataset that everything else is learned from, the test split
        edges = [rows[split] * index // count for index in range(count + 1)]
        for index, (start, end) in enumerate(itertools.pairwise(edges)):
            position = f"{len(work) + 1} of {total}"
            work.append(ShardWork(shard_name(split, index, count), split, position, start, end))
    return work


def pieces(rows: Sequence[int] | np.ndarray, start: int, end: int) -> list[tuple[int, int, int]]:
    """Rows `start` to `end` of a split as (range, first, end within the range) tuples.

    rows: (ranges,) number of rows of the split in each range.
    """
    starts = np.concatenate([[0], np.cumsum(rows)])
    first = int(np.searchsorted(starts, start, side="right")) - 1
    found = []
    for range_ in range(first, len(rows)):
        here = int(starts[range_])
        if here >= end:
            break
        if rows[range_]:
            found.append((range_, max(start - here, 0), min(end - here, int(rows[range_]))))
    return found
