"""BigQuery ML's data split: assigns rows to training and evaluation.

The order of the rows does not matter: they are first sorted by a hash of their content, so the
same rows give the same model. Source: DATA_SPLIT_METHOD in
https://cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax-create-glm
"""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from local_gcp.bigquery.errors import invalid_query
from local_gcp.bigquery.schema import field_from_arrow

from .options import Options

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SEQUENTIAL = {"INT64", "FLOAT64", "NUMERIC", "STRING", "TIMESTAMP", "DATE", "DATETIME"}


def ordered(rows: pa.Table) -> pa.Table:
    """The rows in the order of their content's hash: random, but reproducible."""
    return rows.take(pa.array(np.argsort(_hashes(rows), kind="stable")))


def split(rows: pa.Table, options: Options) -> tuple[pa.Table, pa.Table]:
    """(training rows, evaluation rows) of `ordered` rows, without the split column.

    Raises BigQueryError(invalidQuery) if the split column is missing or has a wrong type.
    """
    method, fraction = options["data_split_method"], options["data_split_eval_fraction"]
    n = rows.num_rows
    if method in ("CUSTOM", "SEQ"):
        name = column_named(rows, options["data_split_col"], "DATA_SPLIT_COL")
        kind = field_from_arrow(rows.schema.field(name)).data_type
        column, rows = rows[name].combine_chunks(), rows.drop_columns([name])
        if method == "CUSTOM":
            if kind != "BOOL":
                raise invalid_query(
                    f"DATA_SPLIT_COL {name} must be of type BOOL when DATA_SPLIT_METHOD is "
                    f"CUSTOM, but it is {kind}"
                )
            held = pc.fill_null(column, True).to_numpy(zero_copy_only=False)
        else:
            if kind not in _SEQUENTIAL:
                raise invalid_query(f"DATA_SPLIT_COL {name} of type {kind} cannot be sorted")
            rank = pc.array_sort_indices(column, null_placement="at_end").to_numpy()
            held = np.zeros(n, bool)
            held[rank[n - round(n * (fraction or 0.2)) :]] = True
    elif method == "NO_SPLIT":
        held = np.zeros(n, bool)
    else:
        if method == "RANDOM" and fraction is not None:
            count = round(n * fraction)
        elif n < 500:
            count = 0
        else:
            count = round(n * 0.2) if n <= 50_000 else 10_000
        held = np.arange(n) < count  # the order is already random
    return rows.filter(pa.array(~held)), rows.filter(pa.array(held))


def column_named(rows: pa.Table, wanted: str, what: str) -> str:
    """The column's name as written in `rows`; BigQuery's names ignore case."""
    for name in rows.column_names:
        if name.lower() == wanted.lower():
            return name
    raise invalid_query(f"{what} column {wanted} is not found in the training data")


def _hashes(rows: pa.Table) -> np.ndarray:
    """One number per row from all its values; each distinct value is hashed once."""
    total = np.zeros(rows.num_rows, np.uint64)
    with np.errstate(over="ignore"):
        for name in rows.column_names:
            array = rows[name].combine_chunks()
            total = (total ^ _column(array)) * _MIX
            total ^= total >> np.uint64(29)
    return total


def _column(array: pa.Array) -> np.ndarray:
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type):
        wide = pa.float64() if pa.types.is_floating(array.type) else pa.int64()
        filled = pc.fill_null(array.cast(wide), 0)
        return filled.to_numpy(zero_copy_only=False).view(np.uint64)
    if pa.types.is_nested(array.type):
        return np.array([zlib.crc32(repr(v).encode()) for v in array.to_pylist()], np.uint64)
    encoded = array.dictionary_encode()
    values = [zlib.crc32(str(v).encode()) for v in encoded.dictionary.to_pylist()]
    table = np.array([*values, 0], np.uint64)
    index = pc.fill_null(encoded.indices, len(values)).to_numpy(zero_copy_only=False)
    return table[index]
