"""Reads the Parquet files of a table and writes their rows to sorted temporary files.

A bounded number of rows is read at a time, but Parquet's reader holds their whole row group, with
up to four times its size. The size of a row group is up to the writer of the file.
"""

import posixpath
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trainer import storage
from trainer.exporting import ExportError
from trainer.exporting.classes import check_number_of_classes
from trainer.exporting.objects import Objects
from trainer.exporting.tables.columns import SnapshotColumns
from trainer.exporting.tables.findings import Findings
from trainer.exporting.tables.layout import (
    PARTIAL_FOLDER,
    SortedFile,
    range_bits,
    ranges_of,
    rows_at_once,
)
from trainer.exporting.tables.rejected import RejectedRow
from trainer.exporting.tables.rows import convert
from trellis_contracts.columns import Columns
from trellis_contracts.dataset import SPLITS
from trellis_contracts.layout import ROWS

_READERS = 16


@dataclass(frozen=True)
class RowGroups:
    """Adjacent row groups of a file, read in one step. number: of the step, from 0."""

    number: int
    uri: str
    groups: tuple[int, ...]
    rows: int


@dataclass(frozen=True)
class Source:
    """The Parquet files beside columns.json.

    range_bits, rows_at_once: how trainer.exporting.tables.layout divides their rows.
    """

    columns: SnapshotColumns
    work: tuple[RowGroups, ...]
    rows: int
    range_bits: int
    rows_at_once: int


@dataclass
class Report:
    """The result of one step: sorted files, problems, NaNs by column, labels, and the lines of a
    manifest that are no rows.
    """

    files: list[SortedFile] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)
    nans: dict[str, int] = field(default_factory=dict)
    labels: dict[str, np.ndarray] = field(default_factory=dict)  # class name -> rows by split
    rejected: list[RejectedRow] = field(default_factory=list)


def list_source(columns: SnapshotColumns, address: str, objects: Objects) -> Source:
    """Find the Parquet files beside columns.json and read their footers.

    Raises ExportError if there are no files or rows, if columns are wrong, or if columns.json has
    another number of rows.
    """
    folder = posixpath.dirname(address) or "."
    uris = [
        uri
        for uri in objects.list(folder)
        if posixpath.dirname(uri) == folder and fnmatch(posixpath.basename(uri), ROWS)
    ]
    if not uris:
        raise ExportError(f"there is no {ROWS} beside {address}; export the snapshot first")
    with ThreadPoolExecutor(_READERS) as pool:
        footers = list(pool.map(lambda uri: _read_footer(uri, objects), uris))
    rows = cells = 0
    for uri, (schema, groups) in zip(uris, footers, strict=True):
        columns.check_schema(schema, uri)
        rows += sum(group_rows for group_rows, _ in groups)
        cells += sum(group_cells for _, group_cells in groups)
    if not rows:
        raise ExportError(f"{folder}/{ROWS} have no rows; is the partition empty?")
    expected = columns.source["rows"]
    if expected != rows:
        raise ExportError(
            f"{folder}/{ROWS} have {rows} rows, but columns.json says {expected}: some files "
            "are of another export, or missing. Export the snapshot into an empty folder"
        )
    limit = rows_at_once(cells, rows)
    work: list[RowGroups] = []
    for uri, (_, groups) in zip(uris, footers, strict=True):
        for numbers, group_rows in _bundle(groups, limit):
            work.append(RowGroups(len(work), uri, numbers, group_rows))
    return Source(columns, tuple(work), rows, range_bits(cells), limit)


def _read_footer(uri: str, objects: Objects) -> tuple[pa.Schema, list[tuple[int, int]]]:
    """A file's schema, and (rows, cells) of each row group."""
    try:
        with objects.open(uri) as stream:
            file = pq.ParquetFile(stream)
            metadata = file.metadata
            groups = []
            for index in range(metadata.num_row_groups):
                group = metadata.row_group(index)
                cells = sum(group.column(i).num_values for i in range(group.num_columns))
                groups.append((group.num_rows, cells))
            return file.schema_arrow, groups
    except pa.ArrowException as error:
        raise ExportError(f"{uri} is not a Parquet file: {error}") from error


def _bundle(groups: list[tuple[int, int]], limit: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield (numbers, rows) of adjacent row groups with at most `limit` rows together."""
    numbers: list[int] = []
    total = 0
    for number, (rows, _) in enumerate(groups):
        if numbers and total + rows > limit:
            yield tuple(numbers), total
            numbers, total = [], 0
        numbers.append(number)
        total += rows
    if total:
        yield tuple(numbers), total


def sort_rows(work: RowGroups, source: Source, objects: Objects, output: str) -> Report:
    """Check the rows of some row groups and write them to temporary files.

    Each file has source.rows_at_once rows, or fewer.
    """
    columns = source.columns
    start = time.monotonic()
    report = Report()
    with objects.open(work.uri) as stream:
        file = pq.ParquetFile(stream)
        # Threads of a reader would take the cores from the other processes.
        batches = file.iter_batches(
            source.rows_at_once,
            row_groups=list(work.groups),
            columns=columns.names,
            use_threads=False,
        )
        for number, batch in enumerate(batches):
            rows = convert(batch, columns)
            report.findings.merge(rows.findings)
            report.rejected += rows.rejected
            for column, count in rows.nans.items():
                report.nans[column] = report.nans.get(column, 0) + count
            if report.findings:
                continue  # the export will be refused; continue to find other problems
            _count_labels(report, rows.block, rows.splits, columns)
            name = f"{PARTIAL_FOLDER}/rows-{work.number:05d}-{number:05d}.arrow"
            with objects.writing(storage.join(output, name)) as out:
                report.files.append(
                    _write_sorted(rows.block, rows.splits, source.range_bits, name, out)
                )
    seconds = time.monotonic() - start
    print(
        f"rows {posixpath.basename(work.uri)}, row groups {work.groups[0]} to {work.groups[-1]}: "
        f"{work.rows} rows, {seconds:.1f} s, {work.rows / max(seconds, 1e-9):.0f} rows/s",
        flush=True,
    )
    return report


def _write_sorted(
    block: pa.RecordBatch, splits: np.ndarray, bits: int, name: str, out: BinaryIO
) -> SortedFile:
    """Write the rows sorted by range and split, each part as Arrow IPC messages."""
    ranges = ranges_of(block.column("fingerprint").to_numpy(), bits)
    parts = ranges * len(SPLITS) + splits
    number = len(SPLITS) << bits
    # NumPy sorts integers of 16 bits by radix, ten times faster than longer ones.
    order = np.argsort(parts.astype(np.min_scalar_type(number)), kind="stable")
    block = block.take(pa.array(order))
    rows = np.bincount(parts, minlength=number)
    ends = np.zeros_like(rows)
    end = first = 0
    for part, count in enumerate(rows.tolist()):
        if count:
            end += out.write(block.slice(first, count).serialize())
            first += count
        ends[part] = end
    shape = (-1, len(SPLITS))
    return SortedFile(name, rows.reshape(shape), ends.reshape(shape))


def _count_labels(
    report: Report, block: pa.RecordBatch, splits: np.ndarray, columns: Columns
) -> None:
    if not columns.has_names:
        return
    encoded = block.column("label").dictionary_encode()
    codes = encoded.indices.to_numpy()
    names = encoded.dictionary.to_pylist()
    counts = np.bincount(codes * len(SPLITS) + splits, minlength=len(names) * len(SPLITS))
    for label, by_split in zip(names, counts.reshape(-1, len(SPLITS)), strict=True):
        for name in columns.classes_in(label):
            report.labels[name] = report.labels.get(name, 0) + by_split
    check_number_of_classes(report.labels, columns.label)
