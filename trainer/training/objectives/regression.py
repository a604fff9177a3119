"""The objective of a regression: a number."""

import math

import numpy as np
import tensorflow as tf

from trainer.metrics import sums as metrics
from trainer.models.inputs import standard
from trainer.training.objectives.objective import ORDERING, Objective
from trellis_contracts.dataset import DatasetDescription


class Regression(Objective):
    """Outputs are (b, 1), the label standardized by its mean and deviation on the train split."""

    metrics = ("loss", "rmse", "mae")
    tallies = 2

    def __init__(self, dataset: DatasetDescription, metric: str | None = None):
        self._mean, self._scale = standard(dataset.label.number_statistics)
        self.gathered = 1 if metric in ORDERING else 0

    def targets(self, labels):
        """Labels standardized."""
        return tf.cast((tf.cast(labels, tf.float64) - self._mean) / self._scale, tf.float32)

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
            "rmse": self._scale * squares**0.5,
            "mae": self._scale * absolutes,
        }

    def tally(self, labels, outputs, weights):
        """Tally the standardized labels and their squares."""
        # In float64: the variance is a small difference of both.
        targets, weights = (tf.cast(t, tf.float64) for t in (self.targets(labels), weights))
        return tf.stack([tf.reduce_sum(targets * weights), tf.reduce_sum(targets**2 * weights)])

    def tallied(self, sums, means, examples):
        """r2, where the labels are not all equal."""
        share = float(metrics.r2(np.array(means["loss"]), *(sums / examples)))
        return {} if math.isnan(share) else {"r2": share}

    def ranked(self, labels, outputs):
        """Absolute errors of the standardized label."""
        return tf.abs(outputs - self.targets(labels)[:, None])

    def orders(self, columns):
        """median_absolute_error, in the label's unit."""
        return {"median_absolute_error": self._scale * float(np.median(columns))}

    def values(self, outputs: tf.Tensor) -> tf.Tensor:
        """(b, 1) -> (b,) float64, in the label's unit."""
        return tf.cast(outputs[:, 0], tf.float64) * self._scale + self._mean
