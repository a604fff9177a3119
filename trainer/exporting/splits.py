"""Which split an example belongs to: a pure function of its key, the same here and in BigQuery.

The bucket of a key, 0..99, is in SQL

    ABS(MOD(FARM_FINGERPRINT(key), 100))

and in Python `buckets([key])`. FARM_FINGERPRINT is FarmHash's fingerprint64 of the UTF-8 text as a
signed INT64. The other spelling that is often seen, MOD(ABS(FARM_FINGERPRINT(key)), 100), gives the
same bucket for every fingerprint but the smallest INT64, on which its ABS overflows and fails the
query: take the modulo first. (MOD of the unsigned fingerprint is another function altogether.)
"""

from collections.abc import Iterable, Mapping

import farmhash
import numpy as np

from trainer.dataset_description import SPLITS

BUCKETS = 100


def fingerprints(keys: Iterable[str]) -> np.ndarray:
    """FARM_FINGERPRINT of each key, int64, as BigQuery computes it on the key as STRING."""
    unsigned = np.fromiter((farmhash.fingerprint64(key) for key in keys), dtype=np.uint64)
    return unsigned.view(np.int64)


def buckets(keys: Iterable[str]) -> np.ndarray:
    """Bucket of each key, int64 in 0..99."""
    return _buckets(fingerprints(keys))


def ranges(fractions: Iterable[int]) -> dict[str, tuple[int, int]]:
    """Half-open bucket ranges by split: 80, 10, 10 percent are [0, 80), [80, 90), [90, 100)."""
    edges = [0, *np.cumsum(list(fractions)).tolist()]
    return {split: (edges[i], edges[i + 1]) for i, split in enumerate(SPLITS)}


def assign(keys: Iterable[str], split_ranges: Mapping[str, tuple[int, int]]) -> np.ndarray:
    """Index into SPLITS of each key's split, under the ranges of `ranges`."""
    return assign_fingerprints(fingerprints(keys), split_ranges)


def assign_fingerprints(
    of_keys: np.ndarray, split_ranges: Mapping[str, tuple[int, int]]
) -> np.ndarray:
    """assign, of keys whose fingerprints are known already."""
    upper_edges = [split_ranges[split][1] for split in SPLITS]
    return np.searchsorted(upper_edges, _buckets(of_keys), side="right")


def _buckets(of_keys: np.ndarray) -> np.ndarray:
    # fmod keeps the sign of the dividend, as SQL's MOD does; NumPy's % would not.
    return np.abs(np.fmod(of_keys, BUCKETS))
