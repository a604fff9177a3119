"""Assigns rows to training, validation and test sets: the splits of an InputDataConfig.

The rules are those of the field comments of FractionSplit, FilterSplit and PredefinedSplit. One
thing those leave open is fixed here, so that a pipeline that runs again splits alike: a fraction
split shuffles the rows by a constant seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.wire import not_emulated

if TYPE_CHECKING:
    from google.cloud import aiplatform_v1 as api

NAMES = ("training", "validation", "test")
"""Names of the sets, and of the values in a predefined split's column."""
IGNORED = -1
"""Value of a row in no set; others have the index of their set in NAMES."""
_DEFAULT = (0.8, 0.1, 0.1)
_SEED = 2718


def check(config: api.InputDataConfig, tabular: bool, field: str) -> None:
    """Refuse a split that the dataset does not support: INVALID_ARGUMENT, UNIMPLEMENTED."""
    kind = type(config).pb(config).WhichOneof("split")
    if kind in ("stratified_split", "timestamp_split"):
        raise not_emulated(f"{field}.{kind}", "Use a predefined or a fraction split.")
    wrong = "filter_split" if tabular else "predefined_split"
    if kind == wrong:
        only = "datasets of images" if tabular else "tabular datasets"
        raise invalid_field(f"{field}.{kind}", f"Only {only} can have it.")
    if kind == "fraction_split":
        fractions(config.fraction_split, f"{field}.{kind}")
    if kind == "predefined_split" and not config.predefined_split.key:
        raise invalid_field(f"{field}.{kind}.key", f"{REQUIRED} It names a column.")
    if kind == "filter_split":
        for name in NAMES:
            if not getattr(config.filter_split, f"{name}_filter"):
                raise invalid_field(
                    f"{field}.filter_split.{name}_filter", f"{REQUIRED} - matches nothing."
                )


def fractions(split: Any, field: str) -> tuple[float, float, float]:
    """The three parts of a whole. What is not given of it goes to the sets that are not given, in
    the proportion 80:10:10; to training when all are given.
    """
    given = [getattr(split, f"{name}_fraction") for name in NAMES]
    rest = 1 - sum(given)
    if min(given) < 0 or rest < -1e-9:
        raise invalid_field(field, f"The fractions {given} must be positive and sum up to 1.")
    open_ = [default if not value else 0.0 for value, default in zip(given, _DEFAULT, strict=True)]
    shares = [share / sum(open_) for share in open_] if sum(open_) else [1.0, 0.0, 0.0]
    return tuple(value + max(rest, 0.0) * share for value, share in zip(given, shares, strict=True))


def by_fraction(rows: int, parts: Sequence[float]) -> np.ndarray:
    """int8[rows]: a random set for each row, the sets as large as `parts` says, rounded."""
    order = np.random.default_rng(_SEED).permutation(rows)
    return _cut(order, rows, parts)


def by_name(values: pa.ChunkedArray) -> np.ndarray:
    """int8[rows]: the set that the value names; other values are ignored."""
    if not pa.types.is_string(values.type):
        return np.full(len(values), IGNORED, dtype=np.int8)
    places = pc.index_in(values, pa.array(NAMES))
    return pc.fill_null(places, IGNORED).to_numpy().astype(np.int8)


def _cut(order: np.ndarray, rows: int, parts: Sequence[float]) -> np.ndarray:
    result = np.full(rows, IGNORED, dtype=np.int8)
    ends = np.rint(np.cumsum(parts) * len(order)).astype(int)
    for place, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        result[order[start:end]] = place
    return result
