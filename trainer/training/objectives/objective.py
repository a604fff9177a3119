"""Interface of an objective: the loss to minimize, and the metrics to report, of one task."""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from trainer.metrics.metric import Order, Tally
from trainer.training.augmentation import Mixed
from trainer.training.sums import vector

Loss = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""Labels (b,), of a regression standardized, of a multi-label task (b, classes), and outputs (b,
any) -> (b,).
"""


class Objective(abc.ABC):
    """One task on one dataset. All tensors are of one replica's batch, (b,) or (b, any).

    metrics: names of what `means` returns. tallied_metrics, order: those of the task's module of
    trainer.metrics. metric: the one that decides. own: a loss in place of the task's. whole:
    whether an example's loss depends on the others of its global batch, which is then not cut into
    parts. settles: whether `settle` has to be called.
    """

    metrics: tuple[str, ...]
    tallied_metrics: tuple[Tally, ...]
    order: Order
    metric: str | None
    own: Loss | None = None
    whole: bool = False
    settles: bool = False

    def weighted(self, labels: tf.Tensor, outputs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """The losses that training minimizes, each with its example's weight (b,)."""
        return self.losses(labels, outputs) * weights

    def settle(self, labels: np.ndarray, outputs: np.ndarray, weights: np.ndarray) -> None:
        """Estimate what the answers need beside the outputs, of all examples of the train split;
        called once the training has ended, if it `settles`. Raises TypeError if it does not.
        """
        raise TypeError(f"{type(self).__name__} needs nothing of the train split")

    def losses(self, labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        """The losses that training minimizes."""
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
        """Factors of each example's loss, in training alone."""
        return tf.ones_like(labels, tf.float32)

    @abc.abstractmethod
    def measures(self, labels: tf.Tensor, outputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Two numbers for each example; the first is the loss that is reported."""

    @abc.abstractmethod
    def means(self, sums: Sequence[float], examples: float) -> dict[str, float]:
        """Metrics from the sums of `measures` over the given number of examples."""

    @abc.abstractmethod
    def answers(self, outputs: tf.Tensor) -> dict[str, tf.Tensor]:
        """What a model answers, of its outputs: the scores of trainer.training.protocol, by the
        names of its signature. What is decided by them is added by saved_model.
        """

    @property
    def tallies(self) -> int:
        """How many numbers `tally` returns."""
        return sum(one.size(self) for one in self.tallied_metrics)

    def tally(self, labels: tf.Tensor, outputs: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """(tallies,) float64 sums for the metrics of an evaluation, beside those of `measures`.

        weights: (b,) 1, or 0 of an example that only fills the batch.
        """
        return vector(*(one.sums(self, labels, outputs, weights) for one in self.tallied_metrics))

    def tallied(self, sums: np.ndarray, means: dict[str, float], examples: float) -> dict:
        """Metrics from the sums of `tally`. means: what `means` returns."""
        found: dict[str, float] = {}
        for one in self.tallied_metrics:
            own, sums = np.split(sums, [one.size(self)])
            found |= one.metrics(self, own, means, examples)
        return found

    @property
    def gathered(self) -> int:
        """How many columns `ranked` returns; 0 if nothing is gathered."""
        return self.order.columns(self)

    def ranked(self, labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        """(b, gathered) float32 columns of what orders the examples."""
        return self.order.ranked(self, labels, outputs)

    def orders(self, columns: np.ndarray) -> dict[str, float]:
        """Metrics from the columns of all examples."""
        return self.order.metrics(self, columns)


def of_mixed(
    function: Callable[[tf.Tensor, tf.Tensor], Any], labels: tf.Tensor | Mixed, outputs: tf.Tensor
) -> Any:
    """Apply an objective's function of labels and outputs to images that may be mixed: the mean
    over both labels, weighted by their shares.
    """
    if not isinstance(labels, Mixed):
        return function(labels, outputs)
    return tf.nest.map_structure(
        lambda first, second: labels.share * first + (1 - labels.share) * second,
        function(labels.first, outputs),
        function(labels.second, outputs),
    )
