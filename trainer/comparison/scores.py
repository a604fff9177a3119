"""Metrics of a classifier on a test split, by one code path for every contender.

Each metric exists twice: `point` is scikit-learn's, on the test split as it is; `resampled` is the
same quantity for many resamples of the split at once, where a resample is a column of integer
weights (how often each example was drawn). scikit-learn takes one set of weights per call, about a
millisecond each, which 2,000 resamples times six metrics times the contenders would turn into
minutes. Tests hold the two equal.

Conventions
- The predicted class is the one with the largest probability, the first of equals.
- Probabilities are floored at float32's epsilon and rows scaled to sum to 1, so that one confident
  mistake costs at most 16 nats of log loss, whatever precision a contender wrote.
- Metrics averaged over classes leave out the classes for which they are undefined (no example of
  the class in the split or resample), like scikit-learn's defaults.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn import metrics as sklearn_metrics

# Equal bins of confidence, as in Guo et al., "On Calibration of Modern Neural Networks" (2017).
CALIBRATION_BINS = 15

_FLOOR = float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Outcome:
    """What one contender said about the n test examples over c classes, and what follows from it.

    labels: (n,) true class indices. probabilities: (n, c). Derived arrays are computed once,
    because the resampled metrics ask for them chunk after chunk.
    """

    labels: np.ndarray
    probabilities: np.ndarray

    def __post_init__(self):
        floored = np.maximum(np.asarray(self.probabilities, dtype=np.float64), _FLOOR)
        object.__setattr__(self, "probabilities", floored / floored.sum(axis=1, keepdims=True))

    @property
    def class_count(self) -> int:
        """Number of classes, c."""
        return self.probabilities.shape[1]

    @cached_property
    def predicted(self) -> np.ndarray:
        """(n,) predicted class indices."""
        return self.probabilities.argmax(axis=1)

    @cached_property
    def correct(self) -> np.ndarray:
        """(n,) bool: the predicted class is the true one."""
        return self.predicted == self.labels

    @cached_property
    def confidence(self) -> np.ndarray:
        """(n,) probability of the predicted class."""
        return self.probabilities.max(axis=1)

    @cached_property
    def surprise(self) -> np.ndarray:
        """(n,) negative log probability of the true class, in nats."""
        return -np.log(self.probabilities[np.arange(len(self.labels)), self.labels])

    @cached_property
    def calibration_bin(self) -> np.ndarray:
        """(n,) index of the confidence's bin; bins are (low, high], 1.0 lies in the last."""
        return np.clip(np.ceil(self.confidence * CALIBRATION_BINS).astype(int) - 1, 0, None)

    @cached_property
    def true_class(self) -> sparse.csr_array:
        """(c, n) indicator of the true class: times weights it gives weighted counts per class."""
        return _indicator(self.labels, self.class_count)

    @cached_property
    def predicted_class(self) -> sparse.csr_array:
        """(c, n) indicator of the predicted class."""
        return _indicator(self.predicted, self.class_count)

    @cached_property
    def hits(self) -> sparse.csr_array:
        """(c, n) indicator of the true class, for correctly classified examples only."""
        return _indicator(self.labels, self.class_count, self.correct)

    @cached_property
    def rankings(self) -> list["Ranking"]:
        """One ranking per class for one-vs-rest AUC; for two classes only that of class 1."""
        return [Ranking.of(self, c) for c in _ranked_classes(self.class_count)]


@dataclass(frozen=True)
class Ranking:
    """The n examples ordered by their score for one class.

    order: (n,) from the lowest score to the highest. positives: (p,) indices of the class's
    examples. below, upto: (p,) how many of the n score less, and at most as much, as each of them.
    """

    order: np.ndarray
    positives: np.ndarray
    below: np.ndarray
    upto: np.ndarray

    @classmethod
    def of(cls, outcome: Outcome, class_index: int) -> "Ranking":
        """Rank an outcome's examples by the probability of one class."""
        scores = outcome.probabilities[:, class_index]
        order = np.argsort(scores, kind="stable")
        positives = np.flatnonzero(outcome.labels == class_index)
        return cls(
            order=order,
            positives=positives,
            below=np.searchsorted(scores[order], scores[positives], side="left"),
            upto=np.searchsorted(scores[order], scores[positives], side="right"),
        )


@dataclass(frozen=True)
class Metric:
    """One column of the leaderboard.

    title: as in a sentence. goal: "maximize" or "minimize".
    point: Outcome -> value, NaN if undefined.
    resampled: (Outcome, weights (n, b)) -> (b,) values, NaN where undefined in a resample.
    hits: for a metric that is a share of the examples, Outcome -> (n,) bool: which of them.
    """

    name: str
    title: str
    goal: str
    description: str
    point: Callable[[Outcome], float]
    resampled: Callable[[Outcome, np.ndarray], np.ndarray]
    hits: Callable[[Outcome], np.ndarray] | None = None

    @property
    def sign(self) -> int:
        """1 if larger is better, -1 if smaller is."""
        return 1 if self.goal == "maximize" else -1


def _indicator(rows: np.ndarray, count: int, values: np.ndarray | None = None) -> sparse.csr_array:
    n = len(rows)
    data = np.ones(n) if values is None else values.astype(np.float64)
    return sparse.csr_array((data, (rows, np.arange(n))), shape=(count, n))


def _ranked_classes(class_count: int) -> range:
    return range(1, 2) if class_count == 2 else range(class_count)


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
        outcome.labels, outcome.probabilities, labels=np.arange(outcome.class_count)
    )


def _log_loss_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    return _mean(outcome.surprise, weights)


def _macro_auc(outcome: Outcome) -> float:
    # roc_auc_score(multi_class="ovr") refuses a split in which a class has no example.
    values = [
        sklearn_metrics.roc_auc_score(outcome.labels == c, outcome.probabilities[:, c])
        for c in _ranked_classes(outcome.class_count)
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


def _calibration_error(outcome: Outcome) -> float:
    return float(_calibration_error_resampled(outcome, np.ones((len(outcome.labels), 1)))[0])


def _calibration_error_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    gap = _indicator(
        outcome.calibration_bin, CALIBRATION_BINS, outcome.confidence - outcome.correct
    )
    return np.abs(gap @ weights).sum(axis=0) / weights.sum(axis=0)


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
            hits=lambda outcome: outcome.correct,
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
            f"{CALIBRATION_BINS} equal bins of confidence.",
            _calibration_error,
            _calibration_error_resampled,
        ),
    )
}
