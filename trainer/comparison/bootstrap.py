"""How sure a score is: bootstrap over the examples of the test split.

The test split is one draw of examples; another draw would give other scores. The bootstrap (Efron,
1979) redraws n examples with replacement from the n there are and looks at how the score moves. All
contenders are scored on the same resamples, so the difference between two of them is paired: what
makes an example hard for both cancels out, and the interval of a difference is narrower than the
two intervals suggest.

It measures the uncertainty that comes from the test split alone: not from the training's seed, nor
from choosing the winner among several by the same split.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from trainer.comparison.metric import Metric
from trainer.comparison.outcome import AnyOutcome

RESAMPLES = 2000

# Fixed, so that the same predictions always give the same leaderboard.
SEED = 20240229

# Examples times resamples in hand at once. int32 weights of 1 MB stay in a core's cache, which is
# twice as fast as 64 MB for 20,000 examples; fewer than 32 resamples would waste each pass.
_CHUNK_ELEMENTS = 2**18
_CHUNK_RESAMPLES = 32


def draw(n: int, resamples: int = RESAMPLES, seed: int = SEED) -> Iterator[np.ndarray]:
    """Yield chunks of weights, (n, b) int32: how often each example is drawn in each resample.

    A function of (n, resamples, seed) alone, whatever the chunk size.
    """
    random = np.random.default_rng(seed)
    chunk = max(_CHUNK_RESAMPLES, _CHUNK_ELEMENTS // n)
    for start in range(0, resamples, chunk):
        count = min(chunk, resamples - start)
        rows = np.empty((count, n), dtype=np.int32)
        for row in rows:
            row[:] = np.bincount(random.integers(0, n, n), minlength=n)
        yield np.ascontiguousarray(rows.T)


def resampled_scores(
    outcomes: Sequence[AnyOutcome],
    metrics: Sequence[Metric],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> np.ndarray:
    """Scores by contender, metric and resample: (contenders, metrics, resamples).

    The outcomes must hold the same examples in the same order. NaN where a metric is undefined in a
    resample (AUC when only one class was drawn).
    """
    n = len(outcomes[0].labels)
    parts = [
        np.array([[metric.resampled(o, weights) for metric in metrics] for o in outcomes])
        for weights in draw(n, resamples, seed)
    ]
    return np.concatenate(parts, axis=2)


def interval(samples: np.ndarray, level: float) -> tuple[float, float]:
    """Percentile interval of one score's or difference's resamples, undefined ones left out.

    (nan, nan) if it was undefined in all of them.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)
