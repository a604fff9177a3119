"""Metrics of a classifier on a test split, by one code path for every contender.

Each metric exists twice: `point` is scikit-learn's, on the test split as it is; `resampled` is the
same quantity for many resamples of the split at once, where a resample is a column of integer
weights (how often each example was drawn). scikit-learn takes one set of weights per call, about a
millisecond each, which 2,000 resamples times six metrics times the contenders would turn into
minutes. Tests hold the two equal.

Metrics averaged over classes leave out the classes for which they are undefined (no example of the
class in the split or resample), like scikit-learn's defaults.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.comparison.calibration import BINS, calibration_error, calibration_error_resampled
from trainer.comparison.outcome import Outcome


@dataclass(frozen=True)
class Metric:
    """One column of the leaderboard.

    title: as in a sentence. goal: "maximize" or "minimize".
    point: Outcome -> value, NaN if undefined.
    resampled: (Outcome, weights (n, b)) -> (b,) values, NaN where undefined in a resample.
    interval, difference_interval: methods, keys of `intervals.METHODS` and `DIFFERENCE_METHODS`.
    """

    name: str
    title: str
    goal: str
    description: str
    point: Callable[[Outcome], float]
    resampled: Callable[[Outcome, np.ndarray], np.ndarray]
    interval: str = "bootstrap"
    difference_interval: str = "paired bootstrap"

    @property
    def sign(self) -> int:
        """1 if larger is better, -1 if smaller is."""
        return 1 if self.goal == "maximize" else -1


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Elementwise ratio, NaN where the denominator is 0."""
    result = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    return np.divide(numerator, denominator, out=result, where=denominator != 0)


def _mean_over_classes(values: np.ndarray) -> np.ndarray:
    """Mean over axis 0 of what is defined; NaN where nothing is."""
    defined = ~np.isnan(values)
    return _ratio(np.where(defined, values, 0).sum(axis=0), defined.sum(axis=0))


def _mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted mean of (n,) values, for each column of weights."""
    return values @ weights / weights.sum(axis=0)


def _accuracy(outcome: Outcome) -> float:
    return sklearn_metrics.accuracy_score(outcome.labels, outcome.predicted)


def _accuracy_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    return _mean(outcome.correct.astype(np.float64), weights)


def _balanced_accuracy(outcome: Outcome) -> float:
    present = np.unique(outcome.labels)
    # Not balanced_accuracy_score: the same, but it warns of predicted classes without examples.
    return sklearn_metrics.recall_score(
        outcome.labels, outcome.predicted, labels=present, average="macro"
    )


def _balanced_accuracy_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    return _mean_over_classes(_ratio(outcome.hits @ weights, outcome.true_class @ weights))


def _macro_f1(outcome: Outcome) -> float:
    return sklearn_metrics.f1_score(outcome.labels, outcome.predicted, average="macro")


def _macro_f1_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    seen = outcome.true_class @ weights + outcome.predicted_class @ weights
    return _mean_over_classes(_ratio(2 * (outcome.hits @ weights), seen))


def _log_loss(outcome: Outcome) -> float:
    return sklearn_metrics.log_loss(
        outcome.labels, outcome.floored, labels=np.arange(outcome.class_count)
    )


def _log_loss_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    return _mean(outcome.surprise, weights)


def _macro_auc(outcome: Outcome) -> float:
    # roc_auc_score(multi_class="ovr") refuses a split in which a class has no example.
    values = [
        sklearn_metrics.roc_auc_score(outcome.labels == c, outcome.probabilities[:, c])
        for c in outcome.ranked_classes
        if 0 < np.count_nonzero(outcome.labels == c) < len(outcome.labels)
    ]
    return float(np.mean(values)) if values else float("nan")


def _macro_auc_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    return _mean_over_classes(np.array(list(_class_aucs(outcome, weights))))


def _class_aucs(outcome: Outcome, weights: np.ndarray) -> Iterator[np.ndarray]:
    """(b,) AUC of each class against the rest, in every resample.

    The Mann-Whitney statistic by mid-ranks: a positive's weight times the weight that scores below
    it, ties counting half, summed over the positives. Ranks are taken among all examples; what the
    positives win among themselves is half their squared weight, and is subtracted.
    """
    total = weights.sum(axis=0)
    for ranking in outcome.rankings:
        # Integer sums: exact, and twice as fast as float64.
        cumulative = np.zeros((len(weights) + 1, weights.shape[1]), dtype=weights.dtype)
        np.cumsum(weights[ranking.order], axis=0, out=cumulative[1:])
        drawn = weights[ranking.positives].astype(np.float64)
        twice_rank = cumulative[ranking.below] + cumulative[ranking.upto]
        positive = drawn.sum(axis=0)
        wins = ((drawn * twice_rank).sum(axis=0) - positive**2) / 2
        yield _ratio(wins, positive * (total - positive))


CLASSIFICATION_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "accuracy",
            "accuracy",
            "maximize",
            "Share of examples whose most probable class is the true one.",
            _accuracy,
            _accuracy_resampled,
            interval="clopper-pearson",
            difference_interval="bonett-price",
        ),
        Metric(
            "balanced_accuracy",
            "balanced accuracy",
            "maximize",
            "Recall, averaged over the classes: every class counts the same, however rare.",
            _balanced_accuracy,
            _balanced_accuracy_resampled,
        ),
        Metric(
            "f1",
            "macro F1",
            "maximize",
            "Harmonic mean of precision and recall, averaged over the classes.",
            _macro_f1,
            _macro_f1_resampled,
        ),
        Metric(
            "auc",
            "AUC",
            "maximize",
            "Area under the ROC curve, one class against the rest, averaged over the classes.",
            _macro_auc,
            _macro_auc_resampled,
        ),
        Metric(
            "log_loss",
            "log loss",
            "minimize",
            "Mean negative log probability of the true class, in nats.",
            _log_loss,
            _log_loss_resampled,
        ),
        Metric(
            "ece",
            "calibration error",
            "minimize",
            "Expected calibration error: mean gap between confidence and accuracy over "
            f"{BINS} equal bins of confidence. Biased upwards on small splits: an interval that "
            "begins at 0 holds no more than a perfectly calibrated classifier shows by chance.",
            calibration_error,
            calibration_error_resampled,
            interval="calibration bootstrap",
        ),
    )
}
