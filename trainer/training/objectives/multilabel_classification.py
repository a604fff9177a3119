"""The objective of a multi-label task: each class is present or absent, whatever the others."""

import tensorflow as tf

from trainer.metrics import multilabel
from trainer.training import class_weights
from trainer.training.objectives.objective import Objective
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
    tallied_metrics, order = multilabel.TALLIES, multilabel.ORDER

    def __init__(self, dataset: DatasetDescription, h: Common, metric: str | None = None):
        self.classes = len(dataset.classes)
        self._smoothing = h.label_smoothing
        self._gamma = h.focal_gamma if h.loss == "focal" else 0.0
        self._weights = class_weights.of_sets(dataset, h)
        self.metric = metric

    def targets(self, labels):
        """(b, classes) float32, 1 of the classes that an example has."""
        return tf.cast(members(labels, self.classes), tf.float32)

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

    @staticmethod
    def answers(outputs):
        """Probabilities of each class."""
        return {"probabilities": tf.sigmoid(outputs)}

    def means(self, sums, examples):
        """loss in nats, accuracy."""
        return dict(zip(self.metrics, (total / examples for total in sums), strict=True))

    def _decided(self, outputs: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.sigmoid(outputs) > DECIDED_ABOVE, tf.float32)


build = MultiLabel
