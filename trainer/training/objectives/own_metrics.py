"""A task's objective, with metrics of a model's own file beside those of the task."""

import tensorflow as tf

from trainer.models.own import OwnMetrics
from trainer.training.objectives.objective import Objective


class WithOwnMetrics(Objective):
    """Evaluates like another objective, and averages the file's metrics over the examples."""

    def __init__(self, objective: Objective, own: OwnMetrics):
        self._task = objective
        self._own = own
        self.own = objective.own
        self.metrics = objective.metrics
        self.tallies = objective.tallies + len(own.names)
        self.gathered = objective.gathered

    def targets(self, labels):
        """See Objective."""
        return self._task.targets(labels)

    def task_losses(self, targets, outputs):
        """See Objective."""
        return self._task.task_losses(targets, outputs)

    def counts(self, labels):
        """See Objective."""
        return self._task.counts(labels)

    def measures(self, labels, outputs):
        """See Objective."""
        return self._task.measures(labels, outputs)

    def means(self, sums, examples):
        """See Objective."""
        return self._task.means(sums, examples)

    def tally(self, labels, outputs, weights):
        """The task's, then sums of the file's metrics, in the order of their names."""
        values = self._own.function(self.targets(labels), outputs)
        # An example that only fills the batch may have any value, also none.
        sums = [
            tf.reduce_sum(tf.where(weights > 0, tf.cast(values[name], tf.float32), 0.0))
            for name in self._own.names
        ]
        return tf.concat([self._task.tally(labels, outputs, weights), sums], 0)

    def tallied(self, sums, means, examples):
        """The task's, and the file's by their names."""
        count = len(self._own.names)
        own = sums[-count:] / examples
        return {
            **self._task.tallied(sums[:-count], means, examples),
            **dict(zip(self._own.names, own.tolist(), strict=True)),
        }

    def ranked(self, labels, outputs):
        """See Objective."""
        return self._task.ranked(labels, outputs)

    def orders(self, columns):
        """See Objective."""
        return self._task.orders(columns)
