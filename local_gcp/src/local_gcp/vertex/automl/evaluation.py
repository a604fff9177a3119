"""Objectives of a search, and Google's metrics of a finished model on the test set.

The metrics are those of ClassificationEvaluationMetrics and RegressionEvaluationMetrics
(google.cloud.aiplatform.v1.schema.modelevaluation.metrics); curves and areas are micro-averaged
over the classes. 64-bit counts are text, as in Google's JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import metrics

from local_gcp.vertex.automl.features import DataError
from local_gcp.vertex.automl.inputs import CLASSIFICATION
from local_gcp.vertex.automl.search import Objective

THRESHOLDS = [n / 100 for n in (*range(0, 100, 5), 96, 97, 98, 99)]
IMAGE_THRESHOLDS = [
    *(n / 100 for n in range(0, 90, 5)),
    0.875,
    *(n / 100 for n in range(90, 100)),
    *(n / 1000 for n in range(995, 1000)),
    1.0,
]
"""Thresholds of a recorded evaluation of images. Google's JSON leaves the first, 0, out."""
_MOST_PREDICTIONS = 2**31 - 1
_LEAST = 1e-15
"""Least probability, so that a logarithm stays finite."""


def default_objective(kind: str, classes: int) -> str:
    """Google's: maximize-au-roc of two classes, minimize-log-loss of more, minimize-rmse."""
    if kind != CLASSIFICATION:
        return "minimize-rmse"
    return "maximize-au-roc" if classes == 2 else "minimize-log-loss"


def objective(name: str, value: float | None, classes: int) -> Objective:
    """The optimization objective of a name; DataError if it does not fit.

    `value`: the recall or precision that the objective is about.
    """
    if name.startswith("maximize-") and classes != 2:
        raise DataError(
            f"The objective {name} is for two classes, and the target column has {classes}."
        )
    measure = {
        "minimize-log-loss": _log_loss,
        "maximize-au-roc": lambda y, p, w: metrics.roc_auc_score(y, p[:, 1], sample_weight=w),
        "maximize-au-prc": lambda y, p, w: metrics.average_precision_score(
            y, p[:, 1], sample_weight=w
        ),
        "maximize-precision-at-recall": lambda y, p, w: _best(y, p, w, recall=value),
        "maximize-recall-at-precision": lambda y, p, w: _best(y, p, w, precision=value),
        "minimize-rmse": lambda y, p, w: metrics.root_mean_squared_error(y, p, sample_weight=w),
        "minimize-mae": lambda y, p, w: metrics.mean_absolute_error(y, p, sample_weight=w),
        "minimize-rmsle": _rmsle,
    }[name]
    return Objective(measure, maximize=name.startswith("maximize-"))


def classification(
    labels: np.ndarray, probabilities: np.ndarray, specs: Sequence[dict[str, str]]
) -> dict[str, Any]:
    """Metrics of int[rows] classes against float[rows, classes].

    `specs`: {"displayName", and "id" where there is one} of each class.
    """
    truth = np.eye(len(specs))[labels]
    guesses = probabilities.argmax(axis=1)
    flat_truth, flat = truth.ravel(), probabilities.ravel()
    return {
        "auPrc": float(metrics.average_precision_score(flat_truth, flat)),
        "auRoc": float(metrics.roc_auc_score(flat_truth, flat)),
        "logLoss": float(_log_loss(labels, probabilities, None)),
        "confidenceMetrics": [_confidence(truth, probabilities, at) for at in THRESHOLDS],
        "confusionMatrix": {
            "annotationSpecs": list(specs),
            "rows": metrics.confusion_matrix(
                labels, guesses, labels=np.arange(len(specs))
            ).tolist(),
        },
    }


def image_classification(
    labels: np.ndarray, probabilities: np.ndarray, specs: Sequence[dict[str, str]]
) -> dict[str, Any]:
    """The metrics that Google has of images: no area under the ROC curve, and of each threshold
    precision and recall alone, each only if it is not 0. Arguments as of `classification`.
    """
    found = classification(labels, probabilities, specs)
    del found["auRoc"]
    truth = np.eye(len(specs))[labels]
    entries = (_confidence(truth, probabilities, at) for at in IMAGE_THRESHOLDS)
    names = ("confidenceThreshold", "precision", "recall")
    found["confidenceMetrics"] = [{n: e[n] for n in names if e[n]} for e in entries]
    return found


def regression(values: np.ndarray, predictions: np.ndarray) -> dict[str, Any]:
    """Metrics of float[rows]; those that are not defined for these values are left out."""
    result = {
        "rootMeanSquaredError": metrics.root_mean_squared_error(values, predictions),
        "meanAbsoluteError": metrics.mean_absolute_error(values, predictions),
    }
    if len(values) > 1:
        result["rSquared"] = metrics.r2_score(values, predictions)
    if (values != 0).all():
        error = metrics.mean_absolute_percentage_error(values, predictions)
        result["meanAbsolutePercentageError"] = 100 * error
    if (values >= 0).all() and (predictions >= 0).all():
        result["rootMeanSquaredLogError"] = _rmsle(values, predictions, None)
    return {name: float(value) for name, value in result.items()}


def _confidence(truth: np.ndarray, probabilities: np.ndarray, threshold: float) -> dict[str, Any]:
    """Counts over all (row, class); at 1: over the class of the highest probability alone."""
    returned = probabilities >= threshold
    top = returned & (probabilities == probabilities.max(axis=1, keepdims=True))
    entry: dict[str, Any] = {"confidenceThreshold": threshold, "maxPredictions": _MOST_PREDICTIONS}
    for suffix, chosen in (("", returned), ("At1", top)):
        hits, misses = int((chosen & (truth == 1)).sum()), int((chosen & (truth == 0)).sum())
        left, right = int((~chosen & (truth == 1)).sum()), int((~chosen & (truth == 0)).sum())
        recall = _share(hits, hits + left)
        precision = _share(hits, hits + misses, 1.0)
        entry[f"recall{suffix}"] = recall
        entry[f"precision{suffix}"] = precision
        entry[f"f1Score{suffix}"] = _share(2 * precision * recall, precision + recall)
        entry[f"falsePositiveRate{suffix}"] = _share(misses, misses + right)
        if not suffix:
            entry |= {
                "truePositiveCount": str(hits),
                "falsePositiveCount": str(misses),
                "falseNegativeCount": str(left),
                "trueNegativeCount": str(right),
            }
    return entry


def _share(part: float, whole: float, otherwise: float = 0.0) -> float:
    return part / whole if whole else otherwise


def _log_loss(labels: np.ndarray, probabilities: np.ndarray, weights: Any) -> float:
    of_truth = probabilities[np.arange(len(labels)), labels]
    return float(np.average(-np.log(np.clip(of_truth, _LEAST, 1)), weights=weights))


def _rmsle(values: np.ndarray, predictions: np.ndarray, weights: Any) -> float:
    if (values < 0).any():
        raise DataError("The objective minimize-rmsle needs a target without negative values.")
    errors = np.log1p(values) - np.log1p(np.maximum(predictions, 0))
    return float(np.sqrt(np.average(errors**2, weights=weights)))


def _best(
    labels: np.ndarray,
    probabilities: np.ndarray,
    weights: np.ndarray,
    recall: float | None = None,
    precision: float | None = None,
) -> float:
    """The best precision at this recall or more, or the best recall at this precision or more."""
    precisions, recalls, _ = metrics.precision_recall_curve(
        labels, probabilities[:, 1], sample_weight=weights
    )
    if recall is not None:
        return float(precisions[recalls >= recall].max(initial=0.0))
    return float(recalls[precisions >= precision].max(initial=0.0))
