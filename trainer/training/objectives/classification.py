"""The objective of a classification: one of several classes."""

import math

import numpy as np
import tensorflow as tf

from trainer.metrics import sums as metrics
from trainer.training import class_weights
from trainer.training.objectives.objective import ORDERING, Objective
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common


class Classification(Objective):
    """Outputs are logits (b, classes), labels class indices."""

    metrics = ("loss", "accuracy")

    def __init__(self, dataset: DatasetDescription, h: Common, metric: str | None):
        self._classes = len(dataset.classes)
        self._smoothing = h.label_smoothing
        self._gamma = h.focal_gamma if h.loss == "focal" else 0.0
        self._weights = class_weights.of(dataset, h)
        self.tallies = 3 * self._classes + 1
        of_class = dataset.counts["validation"].classes.values()
        if self._classes == 2:
            self.gathered = 2 if all(of_class) else 0
        else:
            self.gathered = 1 + self._classes if metric in ORDERING else 0

    def targets(self, labels):
        """Class indices."""
        return labels

    def task_losses(self, targets, outputs):
        """Cross-entropy with the smoothed labels, in nats; or the focal loss."""
        spread = self._smoothing / self._classes
        smooth = tf.one_hot(targets, self._classes, 1 - self._smoothing + spread, spread)
        if not self._gamma:
            return tf.nn.softmax_cross_entropy_with_logits(smooth, outputs)
        # As Keras' CategoricalFocalCrossentropy, which clips the probabilities, however: an example
        # that is confidently misclassified would have no gradient. The power has none at 0.
        others = tf.maximum(1 - tf.nn.softmax(outputs), 1e-7)
        return -tf.reduce_sum(smooth * others**self._gamma * tf.nn.log_softmax(outputs), 1)

    def counts(self, labels):
        """The weight of its class."""
        if self._weights is None:
            return super().counts(labels)
        return tf.gather(tf.constant(self._weights, tf.float32), labels)

    def measures(self, labels, outputs):
        """Cross-entropy in nats, and 1 where the most probable class is right."""
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
        return losses, tf.cast(tf.argmax(outputs, -1) == labels, tf.float32)

    def means(self, sums, examples):
        """loss in nats, accuracy."""
        return dict(zip(self.metrics, (total / examples for total in sums), strict=True))

    def tally(self, labels, outputs, weights):
        """Tally by class: examples that were recognized, all, and those taken for it; Brier's
        terms.
        """
        predicted = tf.argmax(outputs, -1)
        hits = weights * tf.cast(predicted == labels, tf.float32)
        true = tf.one_hot(labels, self._classes)
        counts = [
            tf.reduce_sum(true * hits[:, None], 0),
            tf.reduce_sum(true * weights[:, None], 0),
            tf.reduce_sum(tf.one_hot(predicted, self._classes) * weights[:, None], 0),
        ]
        distances = tf.reduce_sum(tf.square(tf.nn.softmax(outputs) - true), 1)
        if self._classes == 2:
            distances /= 2
        return tf.concat([*counts, [tf.reduce_sum(distances * weights)]], 0)

    def tallied(self, sums, means, examples):
        """balanced_accuracy, f1, brier."""
        hits, true, predicted = sums[:-1].reshape(3, -1)
        return {
            "balanced_accuracy": float(metrics.balanced_accuracy(hits, true)),
            "f1": float(metrics.macro_f1(hits, true, predicted)),
            "brier": float(sums[-1] / examples),
        }

    def ranked(self, labels, outputs):
        """The class, and the scores: of two classes the log odds, ordered as probabilities, but
        distinct even near 0 and 1.
        """
        two = self._classes == 2
        scores = outputs[:, 1:] - outputs[:, :1] if two else tf.nn.softmax(outputs)
        return tf.concat([tf.cast(labels, tf.float32)[:, None], scores], 1)

    def orders(self, columns):
        """auc, average_precision."""
        labels, scores = columns[:, 0], columns[:, 1:]
        if self._classes == 2:
            scores = np.concatenate([-scores, scores], 1)
        return of_order(labels, scores)


def of_order(labels: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Metrics of the order of (n, c) scores: of two classes those of the second, the positive one,
    of more their means over the classes; nothing if there are examples of one class only.
    """
    classes = range(scores.shape[1])
    ranked = classes[1:] if len(classes) == 2 else classes
    values = {
        "auc": metrics.over_classes(metrics.auc, labels, scores, ranked),
        "average_precision": metrics.over_classes(
            metrics.average_precision, labels, scores, ranked
        ),
    }
    return {name: value for name, value in values.items() if not math.isnan(value)}
