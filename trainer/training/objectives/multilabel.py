"""The objective of a multi-label task: each class is present or absent, whatever the others."""

import numpy as np
import tensorflow as tf

from trainer.metrics import sums as metrics
from trainer.training import class_weights
from trainer.training.objectives.objective import ORDERING, Objective
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common
from trellis_contracts.predictions import DECIDED_ABOVE


def members(labels: tf.Tensor, classes: int) -> tf.Tensor:
    """(b, classes) bool: which classes (b,) sets contain, as trainer.label_sets has it."""
    shifted = tf.bitwise.right_shift(labels[:, None], tf.range(classes, dtype=tf.int64))
    return tf.bitwise.bitwise_and(shifted, tf.constant(1, tf.int64)) == 1


class MultiLabel(Objective):
    """Outputs are logits (b, classes), labels sets of classes."""

    metrics = ("loss", "accuracy")

    def __init__(self, dataset: DatasetDescription, h: Common, metric: str | None = None):
        self._classes = len(dataset.classes)
        self._smoothing = h.label_smoothing
        self._gamma = h.focal_gamma if h.loss == "focal" else 0.0
        self._weights = class_weights.of_sets(dataset, h)
        self.tallies = 3 * self._classes + 2
        self.gathered = 2 * self._classes if metric in ORDERING else 0

    def targets(self, labels):
        """(b, classes) float32, 1 of the classes that an example has."""
        return tf.cast(members(labels, self._classes), tf.float32)

    def task_losses(self, targets, outputs):
        """Cross-entropy of each class and its absence, in nats, averaged over the classes; or the
        focal loss. Each with its weight, if there are any.
        """
        smooth = targets * (1 - self._smoothing) + self._smoothing / 2
        losses = tf.nn.sigmoid_cross_entropy_with_logits(smooth, outputs)
        if self._gamma:
            probabilities = tf.sigmoid(outputs)
            others = targets * (1 - probabilities) + (1 - targets) * probabilities
            # Like that of one class: the power has no gradient at 0.
            losses *= tf.maximum(others, 1e-7) ** self._gamma
        if self._weights:
            present, absent = self._weights
            losses *= targets * present + (1 - targets) * absent
        return tf.reduce_mean(losses, 1)

    def measures(self, labels, outputs):
        """Cross-entropy in nats, and the share of the classes that are decided rightly."""
        targets = self.targets(labels)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(targets, outputs)
        right = tf.cast(self._decided(outputs) == targets, tf.float32)
        return tf.reduce_mean(losses, 1), tf.reduce_mean(right, 1)

    def means(self, sums, examples):
        """loss in nats, accuracy."""
        return dict(zip(self.metrics, (total / examples for total in sums), strict=True))

    def tally(self, labels, outputs, weights):
        """Tally by class: examples in which it was found, that have it, and in which it was
        decided; then examples with all classes right, and Brier's terms.
        """
        true, decided = self.targets(labels), self._decided(outputs)
        counts = [
            tf.reduce_sum(table * weights[:, None], 0) for table in (true * decided, true, decided)
        ]
        exact = tf.cast(tf.reduce_all(true == decided, 1), tf.float32)
        squares = tf.reduce_mean(tf.square(tf.sigmoid(outputs) - true), 1)
        sums = [tf.reduce_sum(exact * weights), tf.reduce_sum(squares * weights)]
        return tf.concat([*counts, sums], 0)

    def tallied(self, sums, means, examples):
        """balanced_accuracy, f1, exact_match, brier."""
        found, true, decided = sums[:-2].reshape(3, -1)
        return {
            "balanced_accuracy": float(
                metrics.set_balanced_accuracy(found, true, decided, np.array(examples))
            ),
            "f1": float(metrics.set_f1(found, true, decided)),
            "exact_match": float(sums[-2] / examples),
            "brier": float(sums[-1] / examples),
        }

    def ranked(self, labels, outputs):
        """The classes, and their logits."""
        return tf.concat([self.targets(labels), outputs], 1)

    def orders(self, columns):
        """auc, average_precision."""
        true, scores = columns[:, : self._classes] > 0, columns[:, self._classes :]
        return metrics.set_orders(true, scores)

    def _decided(self, outputs: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.sigmoid(outputs) > DECIDED_ABOVE, tf.float32)
