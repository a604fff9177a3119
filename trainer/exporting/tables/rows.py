"""Checks rows read from Parquet and converts them to blocks, which every later step uses.

A block is an Arrow record batch with the columns

    fingerprint  int64           of the key
    key          large_string
    label ...    large_string    as trainer.exporting.tables.labels has it; of a number float32
    group        int64           fingerprint of the group, if groups decide the split
    weight       float32         if rows have weights
    numeric      binary[4 n]     float32: numeric and boolean features, NULL is NaN
    timestamp    binary[8 t]     int64: microseconds since 1970 UTC, NULL is NULL_TIMESTAMP
    categorical/COLUMN  large_string       with NULL
    text/COLUMN  large_string              with NULL
    image/COLUMN large_string              address; NULL is empty
    sequence/COLUMN     large_list<float>  NULL is empty; a NULL element is NaN

`numeric` and `timestamp` hold all numbers of a row side by side, as the record does; they are
absent if there are no such features. Statistics are computed from these numbers, as the model reads
them.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.exporting.arrow_values import one_by_one
from trainer.exporting.splits import assign_fingerprints, fingerprints
from trainer.exporting.tables import labels
from trainer.exporting.tables.checks import INFINITE, STRING, float32, usable, where
from trainer.exporting.tables.findings import Findings
from trainer.exporting.tables.rejected import RejectedRow
from trellis_contracts.columns import REJECTED, SPLIT_BY, WEIGHT, Columns, TableFeature
from trellis_contracts.dataset import SPLITS
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    NULL_TIMESTAMP,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
)
from trellis_contracts.folds import column

_FLOATS = pa.large_list(pa.float32())


@dataclass
class Rows:
    """A block, its rows' splits (indices into SPLITS), problems, number of NaNs by column, and the
    lines of a manifest that are no rows.
    """

    block: pa.RecordBatch
    splits: np.ndarray
    findings: Findings
    nans: dict[str, int]
    rejected: list[RejectedRow]


def block_schema(columns: Columns) -> pa.Schema:
    """The schema of a block."""
    fields = [
        ("fingerprint", pa.int64()),
        ("key", STRING),
        *labels.of(columns).block,
    ]
    if columns.is_grouped:
        fields.append(("group", pa.int64()))
    if columns.weight is not None:
        fields.append(("weight", pa.float32()))
    for name, kinds, size in ((NUMERIC, (NUMERIC, BOOLEAN), 4), (TIMESTAMP, (TIMESTAMP,), 8)):
        if features := columns.of(*kinds):
            fields.append((name, pa.binary(size * len(features))))
    fields += [(f"{f.kind}/{f.column}", STRING) for f in columns.of(CATEGORICAL, TEXT, IMAGE)]
    fields += [(f"{SEQUENCE}/{f.column}", _FLOATS) for f in columns.of(SEQUENCE)]
    return pa.schema(fields)


def matrix(block: pa.RecordBatch, name: str) -> np.ndarray:
    """The numbers of `numeric` (float32) or `timestamp` (int64) as (rows, features)."""
    array = block.column(name)
    dtype = np.dtype("<f4" if name == NUMERIC else "<i8")
    width = array.type.byte_width // dtype.itemsize
    numbers = np.frombuffer(array.buffers()[1], dtype)
    return numbers[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width)


def convert(batch: pa.RecordBatch, columns: Columns) -> Rows:
    """Check a batch of Parquet rows and convert it to a block.

    The block is valid only if there are no findings.
    """
    batch, rejected = _usable_lines(batch, columns)
    findings = Findings()
    nans: dict[str, int] = {}
    keys = batch.column("key").cast(STRING)
    if keys.null_count:
        keys = keys.fill_null("")
    known = pc.binary_length(keys).to_numpy() > 0
    findings.add(f"the key ({columns.key}) is NULL or empty", where(keys, ~known))
    of_keys = fingerprints(one_by_one(keys))
    arrays = {"fingerprint": pa.array(of_keys), "key": keys}
    hashed, of_hashed = "key", of_keys
    if columns.is_grouped:
        groups = batch.column(SPLIT_BY).cast(STRING)
        grouped = groups.is_valid().to_numpy(zero_copy_only=False)
        findings.add(f"the group ({columns.split.by}) is NULL", where(keys, known & ~grouped))
        known &= grouped
        hashed = SPLIT_BY
        of_hashed = fingerprints(one_by_one(groups.fill_null("")))
        arrays["group"] = pa.array(of_hashed)
    splits = _stated(batch, columns)
    if columns.split.ranges:
        assigned = assign_fingerprints(of_hashed, columns.split.ranges)
        findings.add(
            f"column `split` is not the split of the {hashed}: ABS(MOD(FARM_FINGERPRINT({hashed}), "
            f"100)) in {dict(columns.split.ranges)}",
            where(keys, (assigned != splits) & known),
        )
        splits = assigned
    else:
        findings.add(f"column `split` is none of {', '.join(SPLITS)}", where(keys, splits < 0))
    label = labels.of(columns)
    of_label = label.read(batch, keys, findings)
    arrays |= {name: array for (name, _), array in zip(label.block, of_label, strict=True)}
    if columns.weight is not None:
        title = f"the weight ({columns.weight})"
        weights = usable(batch.column(WEIGHT), title, keys, findings)
        findings.add(f"{title} is negative", where(keys, weights < 0))
        arrays["weight"] = pa.array(weights)
    for name, kinds, dtype, read in (
        (NUMERIC, (NUMERIC, BOOLEAN), np.float32, _numbers),
        (TIMESTAMP, (TIMESTAMP,), np.int64, _microseconds),
    ):
        if features := columns.of(*kinds):
            vectors = np.empty((len(features), len(batch)), dtype)
            for vector, feature in zip(vectors, features, strict=True):
                vector[:] = read(batch.column(feature.column), feature, keys, findings, nans)
            arrays[name] = _side_by_side(vectors)
    for feature in columns.of(CATEGORICAL, TEXT):
        arrays[f"{feature.kind}/{feature.column}"] = batch.column(feature.column).cast(STRING)
    for feature in columns.of(IMAGE):
        addresses = batch.column(feature.column).cast(STRING)
        arrays[f"{IMAGE}/{feature.column}"] = addresses.fill_null("")
    for feature in columns.of(SEQUENCE):
        arrays[f"{SEQUENCE}/{feature.column}"] = _lists(
            batch.column(feature.column), feature, keys, findings, nans
        )
    schema = block_schema(columns)
    block = pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)
    return Rows(block, splits, findings, nans, rejected)


def _stated(batch: pa.RecordBatch, columns: Columns) -> np.ndarray:
    """(n,) indices into SPLITS, by the column `split` or by the fold; -1 where neither says."""
    if columns.part is None or columns.folds is None:
        known = pc.index_in(batch.column("split").cast(STRING), pa.array(SPLITS, STRING))
        return known.fill_null(-1).to_numpy()
    numbers = batch.column(column(columns.part)).cast(pa.int64()).fill_null(0).to_numpy()
    of_fold = np.array([-1, *columns.folds.splits(columns.part)])
    return of_fold[np.where(numbers < len(of_fold), numbers, 0)]


def _usable_lines(
    batch: pa.RecordBatch, columns: Columns
) -> tuple[pa.RecordBatch, list[RejectedRow]]:
    """The rows that may become examples, and a manifest's other lines."""
    if not columns.of_manifest:
        return batch, []
    reasons = batch.column(REJECTED)
    lines = batch.filter(reasons.is_valid())
    (image,) = columns.of(IMAGE)
    rejected = [
        RejectedRow(
            line["key"],
            image.name,
            line[image.column],
            "" if line["label"] is None else str(line["label"]),
            line[REJECTED],
            "",
        )
        for line in lines.to_pylist()
    ]
    return batch.filter(reasons.is_null()), rejected


def _numbers(
    array: pa.Array, feature: TableFeature, keys: pa.Array, findings: Findings, nans: dict
) -> np.ndarray:
    values = float32(array)
    if np.isfinite(values).all():
        return values
    if (infinite := np.isinf(values)).any():
        findings.add(f"{feature.title} is {INFINITE}", where(keys, infinite))
    if pa.types.is_floating(array.type) and (count := np.isnan(values).sum() - array.null_count):
        nans[feature.column] = int(count)
    return values


def _microseconds(
    array: pa.Array, feature: TableFeature, keys: pa.Array, findings: Findings, nans: dict
) -> np.ndarray:
    # Text (of a DATETIME) is parsed; nanoseconds are truncated.
    micros = array.cast(pa.timestamp("us", tz=getattr(array.type, "tz", None)), safe=False)
    return micros.cast(pa.int64()).fill_null(NULL_TIMESTAMP).to_numpy()


def _lists(
    array: pa.Array, feature: TableFeature, keys: pa.Array, findings: Findings, nans: dict
) -> pa.Array:
    lengths = pc.list_value_length(array).fill_null(0).to_numpy()
    elements = pc.list_flatten(array)
    values = float32(elements)
    if (infinite := np.isinf(values)).any():
        mask = np.zeros(len(lengths), bool)
        mask[np.repeat(np.arange(len(lengths)), lengths)[infinite]] = True
        title = f"{feature.title} has an element that is {INFINITE}"
        findings.add(title, where(keys, mask))
    if count := np.isnan(values).sum():
        nans[feature.column] = int(count)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))


def _side_by_side(vectors: np.ndarray) -> pa.Array:
    """The numbers of each row as one binary value. vectors: (features, rows)."""
    numbers = np.ascontiguousarray(vectors.T)
    type_ = pa.binary(numbers.itemsize * numbers.shape[1])
    return pa.Array.from_buffers(type_, len(numbers), [None, pa.py_buffer(numbers)])
