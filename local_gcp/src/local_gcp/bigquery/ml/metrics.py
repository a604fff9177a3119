"""The metrics of ML.EVALUATE, computed by scikit-learn.

Source: https://cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax-evaluate
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from sklearn import metrics
from sklearn.exceptions import UndefinedMetricWarning

from .learning import loss

THRESHOLD = 0.5

CLASSIFICATION = ("precision", "recall", "accuracy", "f1_score", "log_loss", "roc_auc")
REGRESSION = (
    "mean_absolute_error",
    "mean_squared_error",
    "mean_squared_log_error",
    "median_absolute_error",
    "r2_score",
    "explained_variance",
)

Metrics = dict[str, float | None]


def classify(scores: np.ndarray, threshold: float = THRESHOLD) -> np.ndarray:
    """Class indices; of two classes, the threshold applies to class 1, the higher label."""
    if scores.shape[1] == 2:
        return (scores[:, 1] >= threshold).astype(np.int64)
    return scores.argmax(axis=1)


def classification(labels: np.ndarray, scores: np.ndarray, threshold: float = THRESHOLD) -> Metrics:
    """`labels`: class indices, -1 for an unknown label (always wrong).

    Precision, recall, f1 and AUC are those of the positive class if there are two classes, else
    unweighted means over the classes. Precision is NaN if nothing was predicted positive.
    """
    predicted = classify(scores, threshold)
    binary = scores.shape[1] == 2
    wanted = [1] if binary else list(range(scores.shape[1]))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        labels, predicted, labels=wanted, average="macro", zero_division=0.0
    )
    if binary and not predicted.any():
        precision = math.nan
    return {
        "precision": float(precision),
        "recall": float(recall),
        "accuracy": float((labels == predicted).mean()),
        "f1_score": float(f1),
        "log_loss": loss(labels, scores),
        "roc_auc": _auc(labels, scores),
    }


def _auc(labels: np.ndarray, scores: np.ndarray) -> float | None:
    """The area under the ROC curve; None if only one class occurs."""
    positives = [1] if scores.shape[1] == 2 else range(scores.shape[1])
    each = [
        metrics.roc_auc_score(labels == c, scores[:, c])
        for c in positives
        if 0 < (labels == c).sum() < len(labels)
    ]
    return float(np.mean(each)) if each else None


def regression(labels: np.ndarray, values: np.ndarray) -> Metrics:
    """mean_squared_log_error is NULL if a label or prediction is -1 or less."""
    logs = None
    if labels.min() > -1 and values.min() > -1:
        logs = float(np.mean((np.log1p(labels) - np.log1p(values)) ** 2))
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UndefinedMetricWarning
        )  # R2 of a single row is undefined: NaN
        r2 = float(metrics.r2_score(labels, values))
    return {
        "mean_absolute_error": float(metrics.mean_absolute_error(labels, values)),
        "mean_squared_error": float(metrics.mean_squared_error(labels, values)),
        "mean_squared_log_error": logs,
        "median_absolute_error": float(metrics.median_absolute_error(labels, values)),
        "r2_score": r2,
        "explained_variance": float(metrics.explained_variance_score(labels, values)),
    }
