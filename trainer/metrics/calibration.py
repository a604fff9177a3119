"""Expected calibration error: is a prediction made with 90% confidence right 90% of the time?

The plug-in estimate, which papers report, sums absolute gaps and so counts noise as error: a
perfectly calibrated classifier has about 0.06 on 180 examples and 0.03 on 1,000. A resample has
that noise twice, so a percentile interval lies above the true value (for a calibrated classifier,
its measured coverage is 0%). The interval here
- is centred at the estimate minus its bias, which is the mean increase by resampling,
- extends to both sides by the distance of the upper percentile bound from the estimate,
- extends down to 0 unless the estimate is larger than chance explains.
Its coverage is 94% to 99%, measured on 180 and 1,000 examples of nine simulated classifiers:
calibrated, over- and underconfident, with 2 to 10 classes.
"""

import numpy as np

from trainer.metrics.outcome import Outcome, indicator

# Equal bins of confidence, as in Guo et al., "On Calibration of Modern Neural Networks" (2017).
BINS = 15

_CHANCE_DRAWS = 4000
_CHANCE_SEED = 17


def calibration_error(outcome: Outcome) -> float:
    """Mean gap between confidence and accuracy over the bins, weighted by their examples."""
    return float(calibration_error_resampled(outcome, np.ones((len(outcome.labels), 1)))[0])


def calibration_error_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    """The calibration error of every resample: weights (n, b) give (b,) values."""
    gap = indicator(_bins(outcome), BINS, outcome.confidence - outcome.expected)
    return np.abs(gap @ weights).sum(axis=0) / weights.sum(axis=0)


def calibration_interval(
    outcome: Outcome, value: float, samples: np.ndarray, level: float
) -> tuple[float, float]:
    """Interval of the calibration error `value`, from its (resamples,) bootstrap samples."""
    tail = (1 - level) / 2
    centre = value - (samples.mean() - value)
    reach = np.quantile(samples, 1 - tail) - value
    explained = value <= np.quantile(_by_chance(outcome), 1 - tail)
    low = 0.0 if explained else max(0.0, centre - reach)
    return float(low), float(min(1.0, centre + reach))


def _by_chance(outcome: Outcome) -> np.ndarray:
    """Calibration errors, by simulation, of a contender with exactly right confidences.

    A bin's gap is then a sum of independent errors of mean zero: approximately normal, with the
    variance of its Bernoulli variables, times the design effect of groups.
    """
    confidence = np.clip(outcome.confidence, 0, 1)
    variance = indicator(_bins(outcome), BINS, confidence * (1 - confidence)).sum(axis=1)
    if outcome.groups is not None:
        variance = variance * outcome.groups.design_effect(outcome.expected - confidence)
    normal = np.random.default_rng(_CHANCE_SEED).normal(size=(_CHANCE_DRAWS, BINS))
    return np.abs(normal * np.sqrt(variance)).sum(axis=1) / len(confidence)


def _bins(outcome: Outcome) -> np.ndarray:
    """(n,) index of the confidence's bin; bins are (low, high]."""
    above = np.ceil(outcome.confidence * BINS).astype(int)
    # A float32 probability may round to 1.0000001.
    return np.clip(above - 1, 0, BINS - 1)
