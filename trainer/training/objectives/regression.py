"""The objective of a regression: a number."""

import tensorflow as tf

from trainer.metrics import regression
from trainer.training.objectives.objective import Objective
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common


class Regression(Objective):
    """Outputs are (b, 1), the label standardized by its mean and deviation on the train split."""

    metrics = ("loss", "rmse", "mae")
    tallied_metrics, order = regression.TALLIES, regression.ORDER

    def __init__(self, dataset: DatasetDescription, h: Common, metric: str | None = None):
        self._mean, self.scale = dataset.label.number_statistics.standard
        self.metric = metric

    def targets(self, labels):
        """Labels standardized."""
        return tf.cast((tf.cast(labels, tf.float64) - self._mean) / self.scale, tf.float32)

    def task_losses(self, targets, outputs):
        """Squared error, in units of the label's variance."""
        return tf.square(outputs[:, 0] - targets)

    def measures(self, labels, outputs):
        """Squared and absolute error of the standardized label."""
        errors = outputs[:, 0] - self.targets(labels)
        return tf.square(errors), tf.abs(errors)

    def means(self, sums, examples):
        """loss in units of the label's variance; rmse and mae in the label's unit."""
        squares, absolutes = (total / examples for total in sums)
        return {
            "loss": squares,
            "rmse": self.scale * squares**0.5,
            "mae": self.scale * absolutes,
        }

    def answers(self, outputs):
        """(b,) float64 values in the label's unit."""
        return {"value": tf.cast(outputs[:, 0], tf.float64) * self.scale + self._mean}


build = Regression
