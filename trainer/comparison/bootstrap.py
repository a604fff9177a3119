"""Uncertainty of a score, by bootstrap over the examples of the test split.

The test split is a sample; another sample would give other scores. The bootstrap (Efron, 1979)
draws n examples with replacement from the n of the split, many times, and measures how the score
varies. All contenders are scored on the same resamples, so the difference between two of them is
paired: examples that are hard for both cancel out, and the interval of a difference is narrower
than the two intervals suggest.

It measures the uncertainty due to the test split only, not that of the training's seed, nor the
optimism of selecting the winner on the same split.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from trainer.metrics.groups import Groups
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import AnyOutcome

RESAMPLES = 2000

# Fixed, so that the same predictions always give the same leaderboard.
SEED = 20240229

# Examples times resamples held at once. int32 weights of 1 MB stay in a core's cache, which is
# twice as fast as 64 MB for 20,000 examples. Below 32 resamples a pass has too little work.
_CHUNK_ELEMENTS = 2**18
_CHUNK_RESAMPLES = 32


def draw(
    n: int, resamples: int = RESAMPLES, seed: int = SEED, groups: Groups | None = None
) -> Iterator[np.ndarray]:
    """Yield chunks of weights, (n, b) int32: how often each example is drawn in each resample.

    groups: are drawn with all their examples, in place of single ones. The weights depend on the
    arguments only, not on the chunk size.
    """
    random = np.random.default_rng(seed)
    chunk = max(_CHUNK_RESAMPLES, _CHUNK_ELEMENTS // n)
    units = n if groups is None else groups.count
    for start in range(0, resamples, chunk):
        count = min(chunk, resamples - start)
        rows = np.empty((count, units), dtype=np.int32)
        for row in rows:
            row[:] = np.bincount(random.integers(0, units, units), minlength=units)
        weights = np.ascontiguousarray(rows.T)
        yield weights if groups is None else weights[groups.of]


def resampled_scores(
    outcomes: Sequence[AnyOutcome],
    metrics: Sequence[Metric],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> np.ndarray:
    """(contenders, metrics, resamples) scores.

    The outcomes must have the same examples in the same order. A score is NaN if the metric is
    undefined in a resample (AUC when only one class was drawn).
    """
    n = len(outcomes[0].labels)
    parts = [
        np.array([[metric.resampled(o, weights) for metric in metrics] for o in outcomes])
        for weights in draw(n, resamples, seed, outcomes[0].groups)
    ]
    return np.concatenate(parts, axis=2)


def interval(samples: np.ndarray, level: float) -> tuple[float, float]:
    """Percentile interval of a score or a difference from its resamples, NaNs left out.

    (nan, nan) if all of them are NaN.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)
