"""Scores of chance, beside every metric: of answers that do not look at the example.

For decisions, it is always the most frequent class (the no-information rate of Kuhn, Journal of
Statistical Software 28, 2008); for the order of examples, any order at random; for probabilities,
the shares of the classes on this split, which are the best constant ones; for values, the best
constant: the mean or the median of the labels. All from the test split's labels, as 0 is of R²: no
constant does better there.

F1, sensitivity and specificity have none: it depends on how often a class is decided.
"""

from collections.abc import Callable

import numpy as np

from trainer.metrics.outcome import AnyOutcome, ClassOutcome, Outcome


def shares(outcome: ClassOutcome) -> np.ndarray:
    """(c,) share of the examples that have each class."""
    return outcome.class_totals / len(outcome.labels)


def most_frequent(outcome: Outcome) -> float:
    """Accuracy of always deciding for the most frequent class."""
    return float(shares(outcome).max())


def most_frequent_decisions(outcome: ClassOutcome) -> float:
    """Multi-label accuracy of always deciding, for each class, what is more frequent."""
    found = shares(outcome)
    return float(np.maximum(found, 1 - found).mean())


def most_frequent_set(outcome: ClassOutcome) -> float:
    """Exact match of always deciding for the most frequent set of classes."""
    return float(np.unique(outcome.labels, return_counts=True)[1].max() / len(outcome.labels))


def equal_recalls(outcome: Outcome) -> float:
    """Balanced accuracy of always the same class: one over the classes of which there are any."""
    return 1 / np.count_nonzero(outcome.class_totals)


def half(outcome: ClassOutcome) -> float:
    """AUC of any order at random, and balanced accuracy of any one decision between two."""
    return 0.5


def mean_share(outcome: ClassOutcome) -> float:
    """Macro average precision of any order at random: its expectation is a class's share, as
    scores that are all equal have.
    """
    found = shares(outcome)[list(outcome.ranked_classes)]
    found = found[(found > 0) & (found < 1)]
    return float(found.mean()) if len(found) else float("nan")


def share_of(index: int) -> Callable[[ClassOutcome], float]:
    """Share of the examples that have this class: precision of a decision at random."""
    return lambda outcome: float(shares(outcome)[index])


def entropy(outcome: Outcome) -> float:
    """Log loss of the classes' shares, in nats."""
    return _entropy(shares(outcome))


def mean_entropy(outcome: ClassOutcome) -> float:
    """Log loss of each class's share against its absence, averaged over the classes."""
    return float(np.mean([_entropy(np.array([p, 1 - p])) for p in shares(outcome)]))


def brier(outcome: Outcome) -> float:
    """Brier score of the classes' shares."""
    found = shares(outcome)
    score = 1 - np.square(found).sum()
    return float(score / 2 if outcome.class_count == 2 else score)


def mean_brier(outcome: ClassOutcome) -> float:
    """Squared error of each class's share, averaged over the classes."""
    found = shares(outcome)
    return float((found * (1 - found)).mean())


def deviation(outcome: AnyOutcome) -> float:
    """RMSE of predicting the mean of the labels."""
    return float(np.std(outcome.labels))


def absolute_deviation(outcome: AnyOutcome) -> float:
    """MAE of predicting the median of the labels."""
    return float(np.abs(outcome.labels - np.median(outcome.labels)).mean())


def median_deviation(outcome: AnyOutcome) -> float:
    """Median error of predicting the median of the labels."""
    return float(np.median(np.abs(outcome.labels - np.median(outcome.labels))))


def nothing_explained(outcome: AnyOutcome) -> float:
    """R² of predicting the mean of the labels."""
    return 0.0


def _entropy(found: np.ndarray) -> float:
    positive = found[found > 0]
    return float(-(positive * np.log(positive)).sum())
