"""Metrics of predictions, each defined once, for training and comparison alike.

Training takes sums over all replicas on the validation split; the comparison takes sums over many
resamples of the test split at once, so sums may have a further axis: (classes,) or (classes, b).
What orders the examples (AUC, average precision) takes the examples themselves; the comparison's
resamples of it are in trainer.comparison, and tests hold them, and all else, against scikit-learn.

Means over the classes leave out those for which a figure is undefined (NaN).
"""

from collections.abc import Callable, Iterable

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


def balanced_accuracy(hits: np.ndarray, examples: np.ndarray) -> np.ndarray:
    """Mean recall of the classes. hits, examples: how many of each class were recognized, of how
    many.
    """
    return mean_over_classes(ratio(hits, examples))


def macro_f1(hits: np.ndarray, examples: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Mean F1 of the classes. predicted: how many examples were taken for each class."""
    return mean_over_classes(ratio(2 * hits, examples + predicted))


def brier_terms(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """(n,) terms of the Brier score: squared distances of (n, c) probabilities from the truth.

    Of two classes, half of it, which is the squared error of one class's probability (as
    scikit-learn's brier_score_loss).
    """
    likelihood = probabilities[np.arange(len(labels)), labels]
    squares = np.square(probabilities).sum(axis=1) - 2 * likelihood + 1
    return squares / 2 if probabilities.shape[1] == 2 else squares


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve: share of the pairs (positive, other) with the positive's score
    higher, ties counting half. scores: (n,), positive: (n,) bool, of both kinds some.
    """
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    n = np.count_nonzero(positive)
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))


def average_precision(scores: np.ndarray, positive: np.ndarray) -> float:
    """Area under the precision-recall curve, by steps: mean over the positives of the precision
    among all that score at least as high. scores: (n,), positive: (n,) bool, some of them.
    """
    _, places, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.cumsum(np.bincount(places[positive], minlength=len(counts)))
    return float((hits / np.cumsum(counts))[places[positive]].mean())


def over_classes(
    metric: Callable[[np.ndarray, np.ndarray], float],
    labels: np.ndarray,
    scores: np.ndarray,
    classes: Iterable[int],
) -> float:
    """Mean of `auc` or `average_precision`, each of the classes against the rest; NaN if undefined
    for all.

    scores: (n, c). Undefined for a class of which there are no examples, or only.
    """
    values = [
        metric(scores[:, c], labels == c)
        for c in classes
        if 0 < np.count_nonzero(labels == c) < len(labels)
    ]
    return float(np.mean(values)) if values else float("nan")
