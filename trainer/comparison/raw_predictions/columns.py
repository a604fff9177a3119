"""Columns of a table that anybody wrote."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from trainer.comparison.held_out_split import listed_classes
from trainer.prediction_checks import PredictionsError
from trellis_contracts.withheld import at_keys, quoted


def numbers(table: pa.Table, name: str) -> np.ndarray:
    """The column of a class, or of a regression's values."""
    if name not in table.column_names:
        column_of(table, name)  # says so
    column, named = table.column(name).combine_chunks(), quoted(repr(name), "of predictions")
    if column.null_count:
        keys = table.column("key").filter(column.is_null()).to_pylist()
        raise PredictionsError(
            f"column {named} is NULL in {column.null_count} of {len(column)} rows{at_keys(keys)}"
        )
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise PredictionsError(f"column {named} is of {column.type}, not of numbers")
    found: np.ndarray = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def column_of(table: pa.Table, name: str) -> pa.Array:
    """A column without NULLs. Raises PredictionsError."""
    if name not in table.column_names:
        # A column may be called as a class.
        others = quoted(", ".join(table.column_names), f"{len(table.column_names)} others")
        raise PredictionsError(f"raw predictions have no column {name!r}, only {others}")
    column = table.column(name).combine_chunks()
    if column.null_count:
        raise PredictionsError(
            f"raw predictions: column {name!r} is NULL in {column.null_count} of {len(column)} rows"
        )
    return column


def plain_list(column: pa.Array) -> pa.Array:
    """A list column, also from a Parquet file whose lists have no LIST annotation.

    Without it, Arrow reads a list as struct<list: list<struct<item: T>>>.
    """
    if pa.types.is_struct(column.type) and column.type.num_fields == 1:
        column = column.field(0)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise PredictionsError(f"column 'probabilities' is {column.type}, not a list")
    inner = column.type.value_type
    if pa.types.is_struct(inner) and inner.num_fields == 1:
        column = pa.ListArray.from_arrays(column.offsets.cast(pa.int32()), column.values.field(0))
    return column


def by_class(
    count: int, row: np.ndarray, names: Sequence[str], shares: np.ndarray, classes: Sequence[str]
) -> np.ndarray:
    """(count, c) float64 probabilities from (row, class name, probability) triples."""
    index = {name: i for i, name in enumerate(classes)}
    if unknown := sorted({str(name) for name in names if name not in index}):
        raise PredictionsError(
            f"predicts {listed_classes(unknown)}, which {'is' if len(unknown) == 1 else 'are'} not "
            f"among the dataset's {listed_classes(classes)}"
        )
    matrix = np.zeros((count, len(classes)))
    np.add.at(matrix, (row, np.array([index[name] for name in names], int)), shares)
    return matrix
