"""Means over resamples in which a quantity may be undefined (NaN)."""

import numpy as np


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Elementwise ratio, NaN where the denominator is 0."""
    result = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    return np.divide(numerator, denominator, out=result, where=denominator != 0)


def mean_over_classes(values: np.ndarray) -> np.ndarray:
    """Mean over axis 0, ignoring NaN; NaN where all are NaN."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0).sum(axis=0), defined.sum(axis=0))


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(b,) means of (n,) values, one for each column of (n, b) weights."""
    return values @ weights / weights.sum(axis=0)
