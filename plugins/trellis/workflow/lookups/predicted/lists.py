"""Columns of lists."""

import numpy as np
import pyarrow as pa


def lists(table: pa.Table, name: str, size: int) -> np.ndarray:
    """(n, size) numbers of a column of lists."""
    found: np.ndarray = table[name].combine_chunks().flatten().to_numpy().reshape(-1, size)
    return found
