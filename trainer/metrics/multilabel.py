"""Metrics of multi-label classifiers, in training and on a test split, by the same code for every
contender.

Each class is a classification of its own, present or absent, and most metrics are means
over those. What needs both, examples that have a class and others that do not, leaves out the
classes of which the split has only one kind. As in `classification`, `point` is scikit-learn's, and
tests check that `resampled` agrees.

Percentage of 200 simulated test splits whose interval, meant for 95%, covered the true score, for
normal scores of five classes that 40, 30, 20, 10 and 5% of the examples have (percentile bootstrap
in brackets):

                       100 examples                    400
                       AUC 0.856       0.998           0.856       0.998
    AUC                98 (94)        100 (88)         92 (92)    100 (91)
    average precision  99 (92)        100 (72)         95 (90)     99 (84)
    macro F1           90 (90)        100 (88)         90 (90)     97 (90)
    balanced accuracy  96 (96)        100 (86)         94 (93)     98 (91)
    accuracy           94 (94)        100 (94)         98 (96)     98 (94)
    exact match        93 (91)         98 (96)         99 (98)     96 (94)
    log loss           94             92               94          94
"""

from collections.abc import Callable

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer import label_sets
from trainer.metrics import auc, chance, formulas, precision
from trainer.metrics.auc import EXACT_UP_TO
from trainer.metrics.formulas import mean_over_classes, ratio, weighted_mean
from trainer.metrics.metric import Metric, Order, Tally
from trainer.metrics.outcome import Outcome
from trainer.metrics.set_outcome import SetOutcome
from trellis_contracts.predictions import DECIDED_ABOVE


def _over_parts(point: Callable[[Outcome], float]) -> Callable[[SetOutcome], float]:
    def mean(outcome: SetOutcome) -> float:
        return float(np.mean([point(part) for part in outcome.parts] or np.nan))

    return mean


def _over_parts_resampled(
    resampled: Callable[[Outcome, np.ndarray, bool], np.ndarray],
) -> Callable[[SetOutcome, np.ndarray], np.ndarray]:
    """resampled: takes whether there is time for all examples, or only for a first order."""

    def mean(outcome: SetOutcome, weights: np.ndarray) -> np.ndarray:
        if not outcome.parts:
            return np.full(weights.shape[1], np.nan)
        exact = len(outcome.labels) * len(outcome.parts) <= EXACT_UP_TO
        return mean_over_classes(
            np.array([resampled(part, weights, exact) for part in outcome.parts])
        )

    return mean


def _auc(part: Outcome, weights: np.ndarray, exact: bool) -> np.ndarray:
    if exact:
        return next(auc.exact_class_aucs(part, weights))
    return auc.first_order_class_aucs(part, weights)[0]


def _precision(part: Outcome, weights: np.ndarray, exact: bool) -> np.ndarray:
    of_ranking = precision.exact if exact else precision.first_order
    return next(iter(of_ranking(part.rankings, weights)))


def _f1(part: Outcome, weights: np.ndarray, exact: bool) -> np.ndarray:
    found, true, decided = (table[[1]] @ weights for table in _counted(part))
    return np.where(true > 0, ratio(2 * found, true + decided), np.nan)[0]


def _balanced(part: Outcome, weights: np.ndarray, exact: bool) -> np.ndarray:
    return ratio(part.hits @ weights, part.true_class @ weights).mean(axis=0)


def _counted(part: Outcome) -> tuple:
    return part.hits, part.true_class, part.predicted_class


def _exact_match(outcome: SetOutcome) -> float:
    return sklearn_metrics.accuracy_score(outcome.true, outcome.decided)


MULTILABEL_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "accuracy",
            "accuracy of decisions (micro)",
            "micro",
            "maximize",
            "Share of right decisions, class present or absent, over all examples and classes. "
            "High for rare classes even if none is found.",
            lambda outcome: 1 - sklearn_metrics.hamming_loss(outcome.true, outcome.decided),
            lambda outcome, weights: weighted_mean(
                1 - outcome.misses / outcome.class_count, weights
            ),
            chance=chance.most_frequent_decisions,
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
        ),
        Metric(
            "exact_match",
            "exact match",
            "examples",
            "maximize",
            "Share of examples whose classes are all decided rightly.",
            _exact_match,
            lambda outcome, weights: weighted_mean(outcome.correct.astype(np.float64), weights),
            interval="clopper-pearson",
            difference_interval="bonett-price",
            share=lambda outcome: (outcome.correct, np.ones(len(outcome.labels), bool)),
            chance=chance.most_frequent_set,
        ),
        Metric(
            "balanced_accuracy",
            "macro balanced accuracy",
            "macro",
            "maximize",
            "Mean of the recalls of a class and of its absence, averaged over the classes.",
            _over_parts(
                lambda part: sklearn_metrics.balanced_accuracy_score(part.labels, part.predicted)
            ),
            _over_parts_resampled(_balanced),
            chance=chance.half,
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
        ),
        Metric(
            "f1",
            "macro F1",
            "macro",
            "maximize",
            "Harmonic mean of precision and recall, averaged over the classes.",
            _over_parts(
                lambda part: sklearn_metrics.f1_score(part.labels, part.predicted, zero_division=0)
            ),
            _over_parts_resampled(_f1),
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
        ),
        Metric(
            "auc",
            "macro AUC",
            "macro",
            "maximize",
            "Area under the ROC curve of a class against its absence, averaged over the classes.",
            _over_parts(
                lambda part: sklearn_metrics.roc_auc_score(part.labels, part.probabilities[:, 1])
            ),
            _over_parts_resampled(_auc),
            chance=chance.half,
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
        ),
        Metric(
            "average_precision",
            "macro average precision",
            "macro",
            "maximize",
            "Area under the precision-recall curve of a class, averaged over the classes. Of a "
            "rare class's examples that are found, few may be right though the AUC is high.",
            _over_parts(
                lambda part: sklearn_metrics.average_precision_score(
                    part.labels, part.probabilities[:, 1]
                )
            ),
            _over_parts_resampled(_precision),
            chance=chance.mean_share,
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
        ),
        Metric(
            "log_loss",
            "log loss of decisions (micro)",
            "micro",
            "minimize",
            "Mean negative log probability of a class's presence or absence, in nats, over all "
            "examples and classes.",
            lambda outcome: outcome.surprise.mean(),
            lambda outcome, weights: weighted_mean(outcome.surprise, weights),
            terms=lambda outcome: outcome.surprise,
            chance=chance.mean_entropy,
        ),
        Metric(
            "brier",
            "Brier score of decisions (micro)",
            "micro",
            "minimize",
            "Mean squared error of the predicted probabilities, 0 to 1, over all examples and "
            "classes.",
            lambda outcome: outcome.brier.mean(),
            lambda outcome, weights: weighted_mean(outcome.brier, weights),
            terms=lambda outcome: outcome.brier,
            chance=chance.mean_brier,
        ),
    )
}


def _set_f1(found: np.ndarray, true: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """Mean F1 of a multi-label task's classes, those without examples left out. found: in how many
    examples a class is decided rightly; true: how many have it; decided: in how many it is decided.
    """
    return mean_over_classes(np.where(true > 0, ratio(2 * found, true + decided), np.nan))


def _set_balanced_accuracy(
    found: np.ndarray, true: np.ndarray, decided: np.ndarray, examples: np.ndarray
) -> np.ndarray:
    """Mean, over a multi-label task's classes, of the recalls of the class and of its absence.

    Classes that all examples have, or none, are left out. Arguments as of `_set_f1`.
    """
    absent = examples - true
    recalls = (ratio(found, true) + ratio(absent - (decided - found), absent)) / 2
    return mean_over_classes(recalls)


def _orders(true: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """auc and average_precision of a multi-label task, averaged over the classes that some but not
    all examples have; nothing if there is none. true: (n, c) bool. scores: (n, c).
    """
    count = true.sum(axis=0)
    ranked = np.flatnonzero((count > 0) & (count < len(true)))
    if not len(ranked):
        return {}
    return {
        "auc": float(np.mean([formulas.auc(scores[:, c], true[:, c]) for c in ranked])),
        "average_precision": float(
            np.mean([formulas.average_precision(scores[:, c], true[:, c]) for c in ranked])
        ),
    }


def exact(labels: np.ndarray, probabilities: np.ndarray) -> dict[str, float]:
    """Metrics of (n, classes) probabilities for (n,) sets of classes."""
    true = label_sets.members(labels, probabilities.shape[1])
    decided = probabilities > DECIDED_ABOVE
    likelihood = np.where(true, probabilities, 1 - probabilities).astype(float)
    found, of_class, taken = (table.sum(axis=0) for table in (true & decided, true, decided))
    return {
        "loss": float(-np.log(np.maximum(likelihood, np.finfo(np.float32).tiny)).mean()),
        "accuracy": float((true == decided).mean()),
        "balanced_accuracy": float(
            _set_balanced_accuracy(found, of_class, taken, np.array(len(labels)))
        ),
        "f1": float(_set_f1(found, of_class, taken)),
        "exact_match": float((true == decided).all(axis=1).mean()),
        "brier": float(np.square(probabilities.astype(float) - true).mean()),
        **_orders(true, probabilities),
    }


def _decisions(outputs):
    """(b, classes) float32, 1 of the classes that are decided."""
    import tensorflow as tf

    return tf.cast(tf.sigmoid(outputs) > DECIDED_ABOVE, tf.float32)


def _counts(task, labels, outputs, weights):
    """By class: examples in which it was found, that have it, and in which it was decided."""
    import tensorflow as tf

    true, decided = task.targets(labels), _decisions(outputs)
    tables = (true * decided, true, decided)
    return tf.concat([tf.reduce_sum(table * weights[:, None], 0) for table in tables], 0)


def _of_counts(task, sums, means, examples):
    found, true, decided = sums.reshape(3, -1)
    balanced = _set_balanced_accuracy(found, true, decided, np.array(examples))
    return {"balanced_accuracy": float(balanced), "f1": float(_set_f1(found, true, decided))}


def _exact_matches(task, labels, outputs, weights):
    import tensorflow as tf

    exact = tf.reduce_all(task.targets(labels) == _decisions(outputs), 1)
    return tf.reduce_sum(tf.cast(exact, tf.float32) * weights)


def _squares(task, labels, outputs, weights):
    """Brier's terms."""
    import tensorflow as tf

    squares = tf.reduce_mean(tf.square(tf.sigmoid(outputs) - task.targets(labels)), 1)
    return tf.reduce_sum(squares * weights)


def _ranked(task, labels, outputs):
    """The classes, and their logits."""
    import tensorflow as tf

    return tf.concat([task.targets(labels), outputs], 1)


TALLIES = (
    Tally(lambda task: 3 * task.classes, _counts, _of_counts),
    Tally(
        lambda task: 1,
        _exact_matches,
        lambda task, sums, means, examples: {"exact_match": float(sums[0] / examples)},
    ),
    Tally(
        lambda task: 1,
        _squares,
        lambda task, sums, means, examples: {"brier": float(sums[0] / examples)},
    ),
)

ORDER = Order(
    lambda task: 2 * task.classes if task.metric in ("auc", "average_precision") else 0,
    _ranked,
    lambda task, columns: _orders(columns[:, : task.classes] > 0, columns[:, task.classes :]),
)
