"""Metrics of a model's own file, beside those of the task."""

import tensorflow as tf

from trainer.metrics.metric import Tally
from trainer.models.own import OwnMetrics


def tally(own: OwnMetrics) -> Tally:
    """The file's metrics, averaged over the examples."""

    def sums(task, labels, outputs, weights):
        values = own.function(task.targets(labels), outputs)
        # An example that only fills the batch may have any value, also none.
        return [
            tf.reduce_sum(tf.where(weights > 0, tf.cast(values[name], tf.float32), 0.0))
            for name in own.names
        ]

    def metrics(task, sums, means, examples):
        return dict(zip(own.names, (sums / examples).tolist(), strict=True))

    return Tally(lambda task: len(own.names), sums, metrics)
