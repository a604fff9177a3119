"""A task's objective: the loss to minimize, and the metrics to report.

Metrics are sums over examples, added over all replicas. The exception is the area under the ROC
curve: the examples' scores are gathered, and the area is exact.
"""

import abc
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from trainer.dataset_description import DatasetDescription
from trainer.models.inputs import standard

Loss = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""Labels (b,), of a regression standardized, and outputs (b, any) -> (b,)."""


class Objective(abc.ABC):
    """One task on one dataset. All tensors are of one replica's batch, (b,) or (b, any).

    metrics: names of what `means` returns. ranks: whether `score` orders examples for an AUC. own:
    a loss in place of the task's.
    """

    metrics: tuple[str, ...]
    ranks: bool
    own: Loss | None = None

    def losses(self, labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        """What training minimizes."""
        targets = self.targets(labels)
        return self.own(targets, outputs) if self.own else self.task_losses(targets, outputs)

    @abc.abstractmethod
    def targets(self, labels: tf.Tensor) -> tf.Tensor:
        """Labels as a loss takes them."""

    @abc.abstractmethod
    def task_losses(self, targets: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        """The task's own loss."""

    @abc.abstractmethod
    def measures(self, labels: tf.Tensor, outputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Two numbers for each example; the first is the loss that is reported."""

    @abc.abstractmethod
    def means(self, sums: Sequence[float], examples: float) -> dict[str, float]:
        """Metrics from the sums of `measures` over the given number of examples."""

    @abc.abstractmethod
    def scores(self, outputs: tf.Tensor) -> tf.Tensor:
        """Each example's score for the second of two classes."""


def build(dataset: DatasetDescription, smoothing: float, own_loss: Loss | None = None) -> Objective:
    """The objective for a dataset's label. smoothing: share of label smoothing."""
    objective: Objective = (
        Regression(dataset) if dataset.is_regression else Classification(dataset, smoothing)
    )
    objective.own = own_loss
    return objective


class Classification(Objective):
    """Outputs are logits (b, classes), labels class indices."""

    metrics = ("loss", "accuracy")

    def __init__(self, dataset: DatasetDescription, smoothing: float):
        self._classes = len(dataset.classes)
        self._smoothing = smoothing
        of_class = dataset.counts["validation"].classes.values()
        self.ranks = self._classes == 2 and all(of_class)

    def targets(self, labels):
        """Class indices."""
        return labels

    def task_losses(self, targets, outputs):
        """Cross-entropy with the smoothed labels, in nats."""
        spread = self._smoothing / self._classes
        smooth = tf.one_hot(targets, self._classes, 1 - self._smoothing + spread, spread)
        return tf.nn.softmax_cross_entropy_with_logits(smooth, outputs)

    def measures(self, labels, outputs):
        """Cross-entropy in nats, and 1 where the most probable class is right."""
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
        return losses, tf.cast(tf.argmax(outputs, -1) == labels, tf.float32)

    def means(self, sums, examples):
        """loss in nats, accuracy."""
        return dict(zip(self.metrics, (total / examples for total in sums), strict=True))

    def scores(self, outputs):
        """The log odds: ordered as probabilities, but distinct even near 0 and 1."""
        return outputs[:, 1] - outputs[:, 0]


class Regression(Objective):
    """Outputs are (b, 1), the label standardized by its mean and deviation on the train split."""

    metrics = ("loss", "rmse", "mae")
    ranks = False

    def __init__(self, dataset: DatasetDescription):
        self._mean, self._scale = standard(dataset.label.number_statistics)

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

    def scores(self, outputs):
        """None."""
        raise NotImplementedError

    def values(self, outputs: tf.Tensor) -> tf.Tensor:
        """(b, 1) -> (b,) float64, in the label's unit."""
        return tf.cast(outputs[:, 0], tf.float64) * self._scale + self._mean


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve: share of the pairs (positive, other) with the positive's score
    higher, ties counting half. scores: (n,), positive: (n,) bool, of both kinds some.
    """
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    n = np.count_nonzero(positive)
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))
