"""A task's objective: the loss to minimize, and the metrics to report.

Metrics come from sums over examples, added over all replicas. Those that order the examples (AUC,
average precision, the median error) are exact as well: what orders them is gathered. Of more than
two classes, and of a regression, that is a number for each example and class, so it is done where
such a metric decides.
"""

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from trainer import metrics
from trainer.dataset_description import DatasetDescription
from trainer.hyperparameters import Common
from trainer.models.inputs import standard
from trainer.training import class_weights
from trainer.training.augmentation import Mixed

Loss = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""Labels (b,), of a regression standardized, and outputs (b, any) -> (b,)."""


ORDERING = ("auc", "average_precision", "median_absolute_error")
"""Metrics for which examples are ordered."""


class Objective(abc.ABC):
    """One task on one dataset. All tensors are of one replica's batch, (b,) or (b, any).

    metrics: names of what `means` returns. tallies: how many numbers `tally` returns. gathered: how
    many columns `ranked` returns, 0 if nothing is gathered. own: a loss in place of the task's.
    """

    metrics: tuple[str, ...]
    tallies: int
    gathered: int
    own: Loss | None = None

    def losses(self, labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        """What training minimizes."""
        targets = self.targets(labels)
        losses = self.own(targets, outputs) if self.own else self.task_losses(targets, outputs)
        return losses * self.counts(labels)

    @abc.abstractmethod
    def targets(self, labels: tf.Tensor) -> tf.Tensor:
        """Labels as a loss takes them."""

    @abc.abstractmethod
    def task_losses(self, targets: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        """The task's own loss."""

    def counts(self, labels: tf.Tensor) -> tf.Tensor:
        """What each example's loss is multiplied by, in training alone."""
        return tf.ones_like(labels, tf.float32)

    @abc.abstractmethod
    def measures(self, labels: tf.Tensor, outputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Two numbers for each example; the first is the loss that is reported."""

    @abc.abstractmethod
    def means(self, sums: Sequence[float], examples: float) -> dict[str, float]:
        """Metrics from the sums of `measures` over the given number of examples."""

    @abc.abstractmethod
    def tally(self, labels: tf.Tensor, outputs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """(tallies,) sums for the metrics of an evaluation, beside those of `measures`.

        weights: (b,) 1, or 0 of an example that only fills the batch.
        """

    @abc.abstractmethod
    def tallied(self, sums: np.ndarray, means: dict[str, float], examples: float) -> dict:
        """Metrics from the sums of `tally`. means: what `means` returns."""

    @abc.abstractmethod
    def ranked(self, labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        """(b, gathered) float32 columns of what orders the examples."""

    @abc.abstractmethod
    def orders(self, columns: np.ndarray) -> dict[str, float]:
        """Metrics from the columns of all examples."""


def build(
    dataset: DatasetDescription,
    h: Common,
    own_loss: Loss | None = None,
    metric: str | None = None,
) -> Objective:
    """The objective for a dataset's label. metric: the one that decides, computed in any case.

    Raises TrainingError if class_weights names a class that the dataset does not have.
    """
    objective: Objective = (
        Regression(dataset, metric) if dataset.is_regression else Classification(dataset, h, metric)
    )
    objective.own = own_loss
    return objective


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
        # that is told wrong with certainty would have no gradient. The power has none at 0.
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
        """By class: examples that were recognized, all, and those taken for it; Brier's terms."""
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
        """Of the standardized labels and of their squares."""
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


def of_mixed(
    function: Callable[[tf.Tensor, tf.Tensor], Any], labels: tf.Tensor | Mixed, outputs: tf.Tensor
) -> Any:
    """What an objective's function of labels and outputs says of images that may be mixed: the mean
    of both labels, by their shares.
    """
    if not isinstance(labels, Mixed):
        return function(labels, outputs)
    return tf.nest.map_structure(
        lambda first, second: labels.share * first + (1 - labels.share) * second,
        function(labels.first, outputs),
        function(labels.second, outputs),
    )


def of_order(labels: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Metrics of the order of (n, c) scores; nothing if there are examples of one class only."""
    classes = range(scores.shape[1])
    # Of two classes, both areas under the ROC curve are the same.
    ranked = classes[1:] if len(classes) == 2 else classes
    values = {
        "auc": metrics.over_classes(metrics.auc, labels, scores, ranked),
        "average_precision": metrics.over_classes(
            metrics.average_precision, labels, scores, classes
        ),
    }
    return {name: value for name, value in values.items() if not math.isnan(value)}
