"""The objective of a count: Poisson deviance."""

import tensorflow as tf

from trainer.metrics import count
from trainer.training.objectives.objective import Objective


class Count(Objective):
    """Outputs are (b, 1), the logarithm of the expected count by that of the mean."""

    metrics = ("loss", "poisson_deviance")
    tallied_metrics, order = count.TALLIES, count.ORDER

    def __init__(self, dataset, h, metric=None):
        self._mean = dataset.label.number_statistics.mean
        self.metric = metric

    def targets(self, labels):
        """The counts."""
        return tf.cast(labels, tf.float32)

    def task_losses(self, targets, outputs):
        """Poisson deviance."""
        expected = self._mean * tf.exp(outputs[:, 0])
        ratio = tf.where(targets > 0, targets / expected, 1.0)
        return 2 * (targets * tf.math.log(ratio) - targets + expected)

    def measures(self, labels, outputs):
        """The deviance, twice."""
        found = self.task_losses(self.targets(labels), outputs)
        return found, found

    def means(self, sums, examples):
        """Means of the deviance."""
        return dict(zip(self.metrics, (total / examples for total in sums), strict=True))

    def answers(self, outputs):
        """(b,) float64 expected counts."""
        return {"count": self._mean * tf.exp(tf.cast(outputs[:, 0], tf.float64))}


build = Count
