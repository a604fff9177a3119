"""Metrics of classifiers, in training and on a test split, by the same code for every contender.

Each metric has two functions: `point` is scikit-learn's, on the test split; `resampled` computes
the same quantity for many resamples of the split at once, where a resample is a column of integer
weights (how often each example was drawn). scikit-learn takes one set of weights per call, about a
millisecond each, which would be minutes for 2,000 resamples of six metrics and several contenders.
Tests check that both agree.

Metrics averaged over classes leave out undefined classes (without an example in the split or
resample), like scikit-learn's defaults.

CLASSIFICATION_METRICS are those of several classes; `binary.metrics` are those of two.
"""

import math

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.metrics import chance, formulas
from trainer.metrics.auc import macro_auc, macro_auc_resampled
from trainer.metrics.calibration import BINS, calibration_error, calibration_error_resampled
from trainer.metrics.decision import Threshold, decide
from trainer.metrics.formulas import balanced_accuracy, brier_terms, macro_f1, weighted_mean
from trainer.metrics.metric import Metric, Order, Tally
from trainer.metrics.outcome import Outcome
from trainer.metrics.precision import macro_precision, macro_precision_resampled


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
            interval="newcombe",
            difference_interval="paired pseudo-error bootstrap",
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


def exact(
    labels: np.ndarray, probabilities: np.ndarray, threshold: Threshold | None = None
) -> dict[str, float]:
    """Metrics of (n, classes) probabilities for (n,) class indices."""
    classes = probabilities.shape[1]
    probabilities = probabilities.astype(float)
    likelihood = probabilities[np.arange(len(labels)), labels]
    predicted = decide(probabilities, threshold)
    right = predicted == labels
    counted = (labels[right], labels, predicted)
    hits, true, taken = (np.bincount(indices, minlength=classes) for indices in counted)
    return {
        "loss": float(-np.log(np.maximum(likelihood, np.finfo(np.float32).tiny)).mean()),
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(balanced_accuracy(hits, true)),
        "f1": float(macro_f1(hits, true, taken)),
        "brier": float(brier_terms(labels, probabilities).mean()),
        **_of_order(labels, probabilities),
    }


def _of_order(labels: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Metrics of the order of (n, c) scores: of two classes those of the second, the positive one,
    of more their means over the classes; nothing if there are examples of one class only.
    """
    classes = range(scores.shape[1])
    ranked = classes[1:] if len(classes) == 2 else classes
    of = {"auc": formulas.auc, "average_precision": formulas.average_precision}
    values = {n: formulas.over_classes(one, labels, scores, ranked) for n, one in of.items()}
    return {name: value for name, value in values.items() if not math.isnan(value)}


def _counts(task, labels, outputs, weights):
    """By class: examples that were recognized, all, and those taken for it."""
    import tensorflow as tf

    predicted = tf.argmax(outputs, -1)
    hits = weights * tf.cast(predicted == labels, tf.float32)
    true = tf.one_hot(labels, task.classes)
    counts = [
        tf.reduce_sum(true * hits[:, None], 0),
        tf.reduce_sum(true * weights[:, None], 0),
        tf.reduce_sum(tf.one_hot(predicted, task.classes) * weights[:, None], 0),
    ]
    return tf.concat(counts, 0)


def _of_counts(task, sums, means, examples):
    hits, true, predicted = sums.reshape(3, -1)
    return {
        "balanced_accuracy": float(balanced_accuracy(hits, true)),
        "f1": float(macro_f1(hits, true, predicted)),
    }


def _distances(task, labels, outputs, weights):
    """Brier's terms."""
    import tensorflow as tf

    true = tf.one_hot(labels, task.classes)
    distances = tf.reduce_sum(tf.square(tf.nn.softmax(outputs) - true), 1)
    return tf.reduce_sum((distances / 2 if task.classes == 2 else distances) * weights)


TALLIES = (
    Tally(lambda task: 3 * task.classes, _counts, _of_counts),
    Tally(
        lambda task: 1,
        _distances,
        lambda task, sums, means, examples: {"brier": float(sums[0] / examples)},
    ),
)


def _columns(task):
    """Number of columns: one for each of several classes, where such a metric decides."""
    if task.classes == 2:
        return 2 if task.all_in_validation else 0
    return 1 + task.classes if task.metric in ("auc", "average_precision") else 0


def _ranked(task, labels, outputs):
    """The class, and the scores: of two classes the log odds, ordered as probabilities, but
    distinct even near 0 and 1.
    """
    import tensorflow as tf

    scores = outputs[:, 1:] - outputs[:, :1] if task.classes == 2 else tf.nn.softmax(outputs)
    return tf.concat([tf.cast(labels, tf.float32)[:, None], scores], 1)


def _of_ranked(task, columns):
    labels, scores = columns[:, 0], columns[:, 1:]
    if task.classes == 2:
        scores = np.concatenate([-scores, scores], 1)
    return _of_order(labels, scores)


ORDER = Order(_columns, _ranked, _of_ranked)
