"""Assigns an example's split, a pure function of its key, as BigQuery does.

The bucket of a key, 0..99, is in SQL

    ABS(MOD(FARM_FINGERPRINT(key), 100))

and in Python `buckets([key])`. FARM_FINGERPRINT is FarmHash's fingerprint64 of the UTF-8 text as a
signed INT64. The common variant MOD(ABS(FARM_FINGERPRINT(key)), 100) gives the same bucket, except
for the smallest INT64, whose ABS overflows and fails the query. MOD of the unsigned fingerprint is
a different function.
"""

from collections.abc import Iterable, Mapping

import farmhash
import numpy as np

from trellis_contracts.dataset import SPLITS

BUCKETS = 100


def fingerprints(keys: Iterable[str]) -> np.ndarray:
    """(n,) int64: FARM_FINGERPRINT of each key, as BigQuery computes it for a STRING."""
    unsigned = np.fromiter(map(farmhash.fingerprint64, keys), dtype=np.uint64)
    return unsigned.view(np.int64)


def buckets(keys: Iterable[str]) -> np.ndarray:
    """(n,) int64: bucket of each key, 0..99."""
    return _buckets(fingerprints(keys))


def assign(keys: Iterable[str], split_ranges: Mapping[str, tuple[int, int]]) -> np.ndarray:
    """(n,) indices into SPLITS: the split of each key.

    split_ranges: half-open ranges of buckets by split, as `dataset.by_hash` has them.
    """
    return assign_fingerprints(fingerprints(keys), split_ranges)


def assign_fingerprints(
    of_keys: np.ndarray, split_ranges: Mapping[str, tuple[int, int]]
) -> np.ndarray:
    """`assign` for keys whose (n,) int64 fingerprints are known."""
    upper_edges = [split_ranges[split][1] for split in SPLITS]
    return np.searchsorted(upper_edges, _buckets(of_keys), side="right")


def _buckets(of_keys: np.ndarray) -> np.ndarray:
    # fmod keeps the sign of the dividend, as SQL's MOD does; NumPy's % would not.
    return np.abs(np.fmod(of_keys, BUCKETS))
