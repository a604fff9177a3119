"""The objective of a classification: one of several classes."""

import tensorflow as tf

from trainer.metrics import classification
from trainer.training import class_weights
from trainer.training.objectives.objective import Objective
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common


class Classification(Objective):
    """Outputs are logits (b, classes), labels class indices."""

    metrics = ("loss", "accuracy")
    tallied_metrics, order = classification.TALLIES, classification.ORDER

    def __init__(self, dataset: DatasetDescription, h: Common, metric: str | None):
        self.classes = len(dataset.classes)
        self._smoothing = h.label_smoothing
        self._gamma = h.focal_gamma if h.loss == "focal" else 0.0
        self._weights = class_weights.of(dataset, h)
        self.metric = metric
        self.all_in_validation = all(dataset.counts["validation"].classes.values())

    def targets(self, labels):
        """Class indices."""
        return labels

    def task_losses(self, targets, outputs):
        """Cross-entropy with the smoothed labels, in nats; or the focal loss."""
        spread = self._smoothing / self.classes
        smooth = tf.one_hot(targets, self.classes, 1 - self._smoothing + spread, spread)
        if not self._gamma:
            return tf.nn.softmax_cross_entropy_with_logits(smooth, outputs)
        # As Keras' CategoricalFocalCrossentropy, which clips the probabilities, however: an example
        # that is confidently misclassified would have no gradient. The power has none at 0.
        others = tf.maximum(1 - tf.nn.softmax(outputs), 1e-7)
        return -tf.reduce_sum(smooth * others**self._gamma * tf.nn.log_softmax(outputs), 1)

    @staticmethod
    def answers(outputs):
        """Probabilities of the classes."""
        return {"probabilities": tf.nn.softmax(outputs)}

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


build = Classification
