"""Intervals of averages over classes: the bootstrap, plus an error that the split may not show.

Balanced accuracy, F1, AUC and average precision have no closed form that holds, and a resample can
only repeat the errors that the test split happens to hold: without one, the percentile interval is
[1, 1]. So each class gets one pseudo-example more, which a resample draws 0.5 / classes times on
average (a Poisson number), as Agresti & Coull and Bonett & Price add pseudo-counts to shares. For
the lower bound it is predicted wrongly, as the class that this one resembles most; the upper bound
is the plain bootstrap's. Of a difference, the lower bound takes one contender's wrong and the
other's right. Where groups are drawn, it stands for a group of equal examples, of the mean size.

Share of simulated splits of 180 examples (100; AUC: 150) whose interval, meant for 95%, covered the
true score and, after the stroke, the true difference of two equal contenders (percentile bootstrap
in brackets), by classes and expected errors:

                             errors   balanced accuracy   F1                  AUC
    2 classes                 0.4     100/100 (37/26)     100/100 (37/26)     100/100 (12/12)
    2 classes                 3        95/98  (92/84)      95/98  (92/84)     100/99  (75/83)
    2 classes                14        99/99  (96/94)      97/98  (96/95)      93/93  (91/90)
    2 classes, 7% positive    3       100/100 (60/81)      95/96  (93/81)     100/100 (53/45)
    2 classes, 7% positive   14        98/100 (62/89)      94/98  (93/94)     100/99  (74/87)
    3 classes                 5        96/99  (92/95)      97/98  (92/94)      99/100 (85/94)
    3 classes                24        99/96  (99/94)      97/95  (97/93)      93/94  (92/93)
    10 classes                3        96/98  (90/90)      96/98  (91/90)     100/100 (80/85)

Of macro average precision, of two classes the mean over both, on 120 splits of 150 examples with
such classes and errors: 100/100 (8/11), 100/100 (78/82), 93/98 (90/96), 100/100 (18/18), 95/96
(91/92), 99/100 (78/92), 96/96 (93/96) and 100/100 (68/73).
"""

from collections.abc import Sequence

import numpy as np

from trainer.comparison import bootstrap
from trainer.comparison.bootstrap import RESAMPLES, SEED
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import ClassOutcome

SHARE = 0.5
"""Pseudo-examples in a resample, of all classes together, on average."""


def resampled_scores(
    outcomes: Sequence[ClassOutcome],
    metrics: Sequence[Metric],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> np.ndarray:
    """Scores by contender, metric and resample: (contenders, metrics, 2, resamples).

    First with the pseudo-examples predicted wrongly, then with the same ones predicted rightly.
    All outcomes hold the same examples in the same order; the resamples are `bootstrap.draw`'s.
    """
    labels, groups = outcomes[0].labels, outcomes[0].groups
    size = round(groups.mean_size) if groups else 1
    pairs = [[outcome.extended(wrong) for wrong in (True, False)] for outcome in outcomes]
    added = len(pairs[0][0].labels) - len(labels)
    random = np.random.default_rng([seed, 1])
    parts = []
    for weights in bootstrap.draw(len(labels), resamples, seed, groups):
        drawn = random.poisson(SHARE / added, (weights.shape[1], added))
        weights = np.vstack([weights, size * drawn.T.astype(weights.dtype)])
        parts.append([[[m.resampled(o, weights) for o in pair] for m in metrics] for pair in pairs])
    return np.concatenate(parts, axis=-1)


def interval(samples: np.ndarray, with_errors: np.ndarray, level: float) -> tuple[float, float]:
    """Interval of a score to maximize, from its (resamples,) without and with pseudo-errors."""
    return bootstrap.interval(with_errors, level)[0], bootstrap.interval(samples, level)[1]


def difference_interval(this: np.ndarray, other: np.ndarray, level: float) -> tuple[float, float]:
    """Interval of the difference of two scores to maximize.

    this, other: (2, resamples), with the pseudo-examples predicted wrongly and rightly.
    """
    low, _ = bootstrap.interval(this[0] - other[1], level)
    _, high = bootstrap.interval(this[1] - other[0], level)
    return low, high
