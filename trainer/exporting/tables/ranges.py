"""Reads one range of fingerprints from all temporary files, and summarises its rows."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.exporting.number_statistics import Numbers
from trainer.exporting.tables import labels
from trainer.exporting.tables.layout import Layout, Slice
from trainer.exporting.tables.rows import block_schema, matrix
from trainer.exporting.tables.summaries import Lengths, RangeSummary, Summary, Terms
from trellis_contracts.columns import Columns
from trellis_contracts.dataset_features import (
    CATEGORICAL,
    NULL_TIMESTAMP,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
)

# The bytes of slices of temporary files, in order.
ReadSlices = Callable[[Sequence[Slice]], Iterable[bytes]]

_TRAIN = 0

# Statistics of timestamps are in seconds.
_MICROSECONDS = 1e6


def read_rows(slices: Sequence[Slice], schema: pa.Schema, read: ReadSlices) -> pa.RecordBatch:
    """The rows of one range and split as a block, sorted by fingerprint and key."""
    block, order = _read_block(slices, schema, read)
    return block.take(pa.array(order))


def _read_block(
    slices: Sequence[Slice], schema: pa.Schema, read: ReadSlices
) -> tuple[pa.RecordBatch, np.ndarray]:
    """The rows of one range and split, and their order by fingerprint and key."""
    parts = [pa.ipc.read_record_batch(pa.py_buffer(data), schema) for data in read(slices)]
    block = pa.concat_batches(parts) if parts else pa.RecordBatch.from_pylist([], schema)
    of_keys = block.column("fingerprint").to_numpy()
    order = np.argsort(of_keys)
    if (np.diff(of_keys[order]) == 0).any():  # a repeated key, or a rare collision
        table = pa.table([block.column("fingerprint"), block.column("key")], ["fingerprint", "key"])
        by = [("fingerprint", "ascending"), ("key", "ascending")]
        order = pc.sort_indices(table, by).to_numpy().astype(np.int64)
    return block, order


def summarise(range_: int, layout: Layout, columns: Columns, read: ReadSlices) -> RangeSummary:
    """Find duplicate keys in all splits, statistics of the train split, terms of the others."""
    schema = block_schema(columns)
    summary = RangeSummary()
    for split in range(len(layout.files[0].rows[0])):
        block, order = _read_block(layout.slices(range_, split), schema, read)
        _find_duplicates(block, order, columns, summary)
        if split == _TRAIN:
            summary.train.update(_statistics(block, order, columns))
            if columns.weight is not None and columns.has_names:
                names = ["label", "weight"]
                in_order = block.select(names).take(pa.array(order))
                summary.weights.update(_weights_by_class(in_order, columns))
            continue
        for name in _of_kind(schema, CATEGORICAL):
            terms = Terms.of(block.column(name))
            known = summary.elsewhere.get(name)
            summary.elsewhere[name] = known.merge(terms) if known else terms
    return summary


def _find_duplicates(
    block: pa.RecordBatch, order: np.ndarray, columns: Columns, summary: RangeSummary
) -> None:
    of_keys = block.column("fingerprint").to_numpy()[order]
    (seconds,) = np.nonzero(np.diff(of_keys) == 0)
    keys = block.column("key")
    pairs = ((keys[order[i]], keys[order[i + 1]]) for i in seconds.tolist())
    repeated = [first.as_py() for first, second in pairs if first == second]
    summary.findings.add(f"the key ({columns.key}) repeats that of another row", repeated)


def _statistics(block: pa.RecordBatch, order: np.ndarray, columns: Columns) -> dict[str, Summary]:
    """Summaries of all columns.

    Numbers are summarised in order, since which of -0.0 and 0.0 is first when they are sorted
    depends on it; counts of terms and lengths of texts do not.
    """
    found = labels.of(columns).summaries(block, order)
    if columns.weight is not None:
        found["weight"] = Numbers.of(block.column("weight").to_numpy()[order])
    if NUMERIC in block.schema.names:
        for index, values in enumerate(_vectors(matrix(block, NUMERIC), order)):
            found[f"{NUMERIC}/{index}"] = Numbers.of(values)
    if TIMESTAMP in block.schema.names:
        for index, micros in enumerate(_vectors(matrix(block, TIMESTAMP), order)):
            seconds = np.where(micros == NULL_TIMESTAMP, np.nan, micros / _MICROSECONDS)
            found[f"{TIMESTAMP}/{index}"] = Numbers.of(seconds)
    for name in _of_kind(block.schema, CATEGORICAL):
        found[name] = Terms.of(block.column(name))
    for name in _of_kind(block.schema, SEQUENCE):
        found[name] = Lengths.of(block.column(name).take(pa.array(order)))
    for name in _of_kind(block.schema, TEXT):
        lengths = pc.utf8_length(block.column(name)).cast(pa.float64()).fill_null(np.nan)
        found[name] = Numbers.of(lengths.to_numpy())
    return found


def _vectors(rows: np.ndarray, order: np.ndarray) -> np.ndarray:
    """(features, rows): the columns of a (rows, features) matrix, in this order."""
    return np.ascontiguousarray(rows.take(order, axis=0).T)


def _weights_by_class(block: pa.RecordBatch, columns: Columns) -> dict[str, float]:
    encoded = block.column("label").dictionary_encode()
    names = encoded.dictionary.to_pylist()
    weights = block.column("weight").to_numpy().astype(np.float64)
    sums = np.bincount(encoded.indices.to_numpy(), weights, len(names))
    found: dict[str, float] = {}
    for label, weight in zip(names, sums.tolist(), strict=True):
        for name in columns.classes_in(label):
            found[name] = found.get(name, 0.0) + weight
    return found


def _of_kind(schema: pa.Schema, kind: str) -> list[str]:
    return [name for name in schema.names if name.startswith(f"{kind}/")]
