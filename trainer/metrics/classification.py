"""Metrics of classifiers on a test split, by the same code for every contender.

Each metric has two functions: `point` is scikit-learn's, on the test split; `resampled` computes
the same quantity for many resamples of the split at once, where a resample is a column of integer
weights (how often each example was drawn). scikit-learn takes one set of weights per call, about a
millisecond each, which would be minutes for 2,000 resamples of six metrics and several contenders.
Tests check that both agree.

Metrics averaged over classes leave out undefined classes (without an example in the split or
resample), like scikit-learn's defaults.

CLASSIFICATION_METRICS are those of several classes; `binary.metrics` are those of two.
"""

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.metrics import chance
from trainer.metrics.auc import macro_auc, macro_auc_resampled
from trainer.metrics.calibration import BINS, calibration_error, calibration_error_resampled
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import Outcome
from trainer.metrics.precision import macro_precision, macro_precision_resampled
from trainer.metrics.sums import balanced_accuracy, macro_f1, weighted_mean


def _accuracy(outcome: Outcome) -> float:
    return sklearn_metrics.accuracy_score(outcome.labels, outcome.predicted)


def _accuracy_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    return weighted_mean(outcome.correct.astype(np.float64), weights)


def _balanced_accuracy(outcome: Outcome) -> float:
    present = np.unique(outcome.labels)
    # balanced_accuracy_score is equal, but warns of predicted classes without examples.
    return sklearn_metrics.recall_score(
        outcome.labels, outcome.predicted, labels=present, average="macro"
    )


def _balanced_accuracy_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    return balanced_accuracy(outcome.hits @ weights, outcome.true_class @ weights)


def _macro_f1(outcome: Outcome) -> float:
    return sklearn_metrics.f1_score(outcome.labels, outcome.predicted, average="macro")


def _macro_f1_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    sums = (outcome.hits, outcome.true_class, outcome.predicted_class)
    return macro_f1(*(indicator @ weights for indicator in sums))


def _log_loss(outcome: Outcome) -> float:
    return sklearn_metrics.log_loss(
        outcome.labels, outcome.floored, labels=np.arange(outcome.class_count)
    )


def _log_loss_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    return weighted_mean(outcome.surprise, weights)


def _brier(outcome: Outcome) -> float:
    return sklearn_metrics.brier_score_loss(
        outcome.labels, outcome.floored, labels=np.arange(outcome.class_count)
    )


def _brier_resampled(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
    return weighted_mean(outcome.brier, weights)


CLASSIFICATION_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "accuracy",
            "accuracy",
            "examples",
            "maximize",
            "Share of examples whose predicted class is the true one.",
            _accuracy,
            _accuracy_resampled,
            interval="clopper-pearson",
            difference_interval="bonett-price",
            chance=chance.most_frequent,
            share=lambda outcome: (outcome.correct, np.ones(len(outcome.labels), bool)),
        ),
        Metric(
            "balanced_accuracy",
            "balanced accuracy (macro recall)",
            "macro",
            "maximize",
            "Recall, averaged over the classes: rare classes count as much as frequent ones.",
            _balanced_accuracy,
            _balanced_accuracy_resampled,
            chance=chance.equal_recalls,
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
            pseudo_errors=True,
        ),
        Metric(
            "f1",
            "macro F1",
            "macro",
            "maximize",
            "Harmonic mean of precision and recall, averaged over the classes, also if there are "
            "only two.",
            _macro_f1,
            _macro_f1_resampled,
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
            pseudo_errors=True,
        ),
        Metric(
            "auc",
            "macro AUC",
            "macro",
            "maximize",
            "Area under the ROC curve, one class against the rest, averaged over the classes.",
            macro_auc,
            macro_auc_resampled,
            chance=chance.half,
            interval="newcombe or pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
            pseudo_errors=True,
        ),
        Metric(
            "average_precision",
            "macro average precision",
            "macro",
            "maximize",
            "Area under the precision-recall curve, one class against the rest, averaged over the "
            "classes. Of a class's examples that are found, few may be right though the AUC is "
            "high, if the class is rare.",
            macro_precision,
            macro_precision_resampled,
            chance=chance.mean_share,
            interval="logit and pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
            pseudo_errors=True,
        ),
        Metric(
            "log_loss",
            "log loss",
            "examples",
            "minimize",
            "Mean negative log probability of the true class, in nats.",
            _log_loss,
            _log_loss_resampled,
            terms=lambda outcome: outcome.surprise,
            chance=chance.entropy,
        ),
        Metric(
            "brier",
            "Brier score",
            "examples",
            "minimize",
            "Mean squared distance of the predicted probabilities from the truth, 0 to 2; of two "
            "classes half of it, 0 to 1.",
            _brier,
            _brier_resampled,
            terms=lambda outcome: outcome.brier,
            chance=chance.brier,
        ),
        Metric(
            "ece",
            "calibration error",
            "examples",
            "minimize",
            "Expected calibration error: mean gap between confidence and accuracy over "
            f"{BINS} equal bins of confidence. Biased upwards on small splits: an interval that "
            "begins at 0 is compatible with perfect calibration.",
            calibration_error,
            calibration_error_resampled,
            interval="calibration bootstrap",
        ),
    )
}
