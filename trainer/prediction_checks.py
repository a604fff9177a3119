"""What every form of predictions asks of its arrays, and the arrays as Arrow's columns."""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trellis_contracts.withheld import RowsError, quoted


class RuleError(RowsError, ValueError):
    """Predictions break a rule. rule: its name in trellis_contracts.program.terms.RULES."""

    def __init__(self, message: str, rule: str = "form") -> None:
        super().__init__(message)
        self.rule = rule


class PredictionsError(RuleError):
    """A set of predictions that cannot be scored; the message says which rows and why."""


def check_keys(keys: np.ndarray) -> None:
    """Refuse no keys, and one that appears more than once. Raises PredictionsError."""
    if len(keys) == 0:
        raise PredictionsError("there is not one row; the test split must not be empty", "keys")
    unique, counts = np.unique(keys, return_counts=True)
    refuse(counts > 1, unique, "keys", "key appears more than once")


def refuse(bad: np.ndarray, keys: np.ndarray, rule: str, what: str) -> None:
    """Raise PredictionsError, with the first keys, if (n,) `bad` is true of any."""
    if bad.any():
        first = quoted(f", first keys {', '.join(map(repr, keys[bad][:3]))}", "")
        raise PredictionsError(f"{what}: {int(bad.sum())} row(s){first}", rule)


def texts(keys: Iterable[str | bytes]) -> np.ndarray:
    """(n,) object array of str."""
    return np.array([_text(key) for key in keys], dtype=object)


def _text(key: str | bytes) -> str:
    """A key as text; TensorFlow returns keys as UTF-8 bytes."""
    return key.decode("utf-8") if isinstance(key, bytes) else str(key)


def lists(column: pa.Array, keys: np.ndarray, size: int, per: str) -> np.ndarray:
    """(n, size) numbers of (n,) lists. Raises PredictionsError for another length."""
    wrong = pc.not_equal(pc.list_value_length(column), size).to_numpy(zero_copy_only=False)
    refuse(wrong, keys, "form", f"not exactly {size} numbers, one per {per}")
    return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, size)


def list_array(rows: np.ndarray, type_: pa.DataType) -> pa.Array:
    """(n, c) numbers as n lists."""
    n, c = rows.shape
    offsets = np.arange(0, (n + 1) * c, c, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(rows.ravel(), type_))


def values_of(columns: Mapping[str, pa.Array], *names: str) -> list[np.ndarray]:
    """(n,) values of each of these columns."""
    return [columns[name].to_numpy(zero_copy_only=False) for name in names]
