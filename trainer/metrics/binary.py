"""Metrics of two classes, of which one is positive: it comes first, and names say whose they are.

Positive is the second of two classes: 1 of 0 and 1, true, yes. Sensitivity, specificity and the
predictive values (PPV, NPV) are of each contender's own decisions, at its threshold if it has one,
else for the more probable class.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.metrics import chance
from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.formulas import ratio
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import Outcome

POSITIVE = 1
"""Index of the positive class."""


def metrics(
    classes: tuple[str, str] = ("the other class", "the positive class"),
) -> dict[str, Metric]:
    """The metrics by name, in the order in which they are shown. classes: for their titles."""
    negative, positive = classes[1 - POSITIVE], classes[POSITIVE]
    others = dict(CLASSIFICATION_METRICS)
    precision = dataclasses.replace(
        others.pop("average_precision"),
        title=f"average precision of {positive}",
        average="positive class",
        description=f"Area under the precision-recall curve of {positive}: mean, over its "
        "examples, of the precision among all that are given at least their probability. Chance "
        f"is the share of {positive}.",
        chance=chance.share_of(POSITIVE),
    )
    auc = dataclasses.replace(
        others.pop("auc"),
        title="AUC",
        average="positive class",
        description=f"Area under the ROC curve: chance that an example of {positive} is given a "
        f"higher probability of it than one of {negative}. The same for both classes.",
    )
    first = (
        precision,
        auc,
        _recall("sensitivity", positive, POSITIVE),
        _recall("specificity", negative, 1 - POSITIVE),
        _predictive_value("ppv", "PPV", positive, POSITIVE),
        _predictive_value("npv", "NPV", negative, 1 - POSITIVE),
    )
    return {metric.name: metric for metric in first} | others


def _recall(name: str, of: str, index: int) -> Metric:
    return Metric(
        name,
        f"{name} (recall of {of})",
        "positive class",
        "maximize",
        f"Share of the examples of {of} that are decided as such.",
        lambda outcome: sklearn_metrics.recall_score(
            outcome.labels, outcome.predicted, pos_label=index, zero_division=np.nan
        ),
        _resampled(lambda outcome: outcome.labels == index),
        interval="clopper-pearson",
        difference_interval="bonett-price",
        share=lambda outcome: (outcome.correct, outcome.labels == index),
    )


def _predictive_value(name: str, short: str, of: str, index: int) -> Metric:
    return Metric(
        name,
        f"{short} (precision of {of})",
        "positive class",
        "maximize",
        f"Share of the examples decided as {of} that are such. It depends on how frequent the "
        "classes are in the test split.",
        lambda outcome: sklearn_metrics.precision_score(
            outcome.labels, outcome.predicted, pos_label=index, zero_division=np.nan
        ),
        _resampled(lambda outcome: outcome.predicted == index),
        interval="clopper-pearson",
        # Contenders decide for a class in different examples.
        difference_interval="paired pseudo-error bootstrap",
        chance=chance.share_of(index),
        share=lambda outcome: (outcome.correct, outcome.predicted == index),
    )


def _resampled(
    among: Callable[[Outcome], np.ndarray],
) -> Callable[[Outcome, np.ndarray], np.ndarray]:
    def values(outcome: Outcome, weights: np.ndarray) -> np.ndarray:
        members = among(outcome)
        hits = (members & outcome.correct).astype(np.float64)
        return ratio(hits @ weights, members.astype(np.float64) @ weights)

    return values
