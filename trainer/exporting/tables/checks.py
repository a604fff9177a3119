"""Checks of a column's values, for findings."""

import numpy as np
import pyarrow as pa

from trainer.exporting.tables.findings import Findings

STRING = pa.large_string()

INFINITE = "infinite, or beyond float32's 3.4e38"


def where(keys: pa.Array, mask: np.ndarray) -> list[str]:
    """The keys of the rows that a mask names."""
    return keys.filter(pa.array(mask)).to_pylist() if mask.any() else []


def usable(array: pa.Array, title: str, keys: pa.Array, findings: Findings) -> np.ndarray:
    """(n,) float32, none of which may be missing or infinite."""
    missing = array.is_null().to_numpy(zero_copy_only=False)
    findings.add(f"{title} is NULL", where(keys, missing))
    values = float32(array)
    findings.add(f"{title} is NaN", where(keys, np.isnan(values) & ~missing))
    findings.add(f"{title} is {INFINITE}", where(keys, np.isinf(values)))
    return values


def float32(array: pa.Array) -> np.ndarray:
    """(n,) numbers and booleans; NULL is NaN."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    numbers = array.cast(pa.float64(), safe=False)
    # Arrow would copy a column without NULL.
    values = (numbers.fill_null(np.nan) if numbers.null_count else numbers).to_numpy()
    with np.errstate(over="ignore"):  # becomes infinite, which is refused
        return values.astype(np.float32)
