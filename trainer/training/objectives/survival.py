"""The objectives of a time to an event: hazards of intervals, and Cox's proportional hazards.

Labels are (b, 2): the time, and 1 if the event happened then, else 0 (censored). What is answered
is the risk, the logarithm of the cumulative hazard averaged over the label's times, and the
probability that the event has not happened until each of them.
"""

import abc

import numpy as np
import tensorflow as tf

from trainer.metrics import survival
from trainer.metrics.survival import SurvivalOutcome
from trainer.training.objectives.objective import Objective
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import Event

# Of a cumulative hazard, so that it has a logarithm.
_LEAST = 1e-12


class Survival(Objective):
    """What both share. outputs: of the model."""

    metrics = ("loss",)
    tallied_metrics, order = (), survival.ORDER

    def __init__(self, dataset: DatasetDescription, metric: str | None = None):
        self.metric = metric
        self.event: Event = dataset.label.of_event
        self.outputs = dataset.outputs

    def targets(self, labels):
        """The labels."""
        return labels

    def counts(self, labels):
        """All the same."""
        return tf.ones_like(labels[:, 0])

    def measures(self, labels, outputs):
        """The loss, and nothing else."""
        losses = self.task_losses(labels, outputs)
        return losses, tf.zeros_like(losses)

    def means(self, sums, examples):
        """loss in nats."""
        return {"loss": sums[0] / examples}

    @abc.abstractmethod
    def cumulative(self, outputs: tf.Tensor) -> tf.Tensor:
        """(b, times) cumulative hazards at the label's times."""

    def answers(self, outputs: tf.Tensor) -> dict[str, tf.Tensor]:
        """See Objective."""
        hazards = self.cumulative(tf.cast(outputs, tf.float64))
        risk = tf.math.log(tf.reduce_mean(hazards, 1) + _LEAST)
        return {"risk": risk, "survival": tf.exp(-hazards)}

    def evaluated(self, labels: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """Metrics of all examples of a split, given their labels and outputs."""
        found = {name: value.numpy() for name, value in self.answers(tf.constant(outputs)).items()}
        event, labels = self.event, labels.astype(np.float64)
        curves = found["risk"], found["survival"]
        return survival.exact(SurvivalOutcome(labels, *curves, event.times, event.horizons))


class Hazards(Survival):
    """Outputs are logits (b, intervals): of the probability that the event happens in an interval,
    given that it has not before. Within an interval the hazard is constant, so that a time in the
    middle of one counts as the part of it that it survived (Gensheimer & Narasimhan, PeerJ 7, 2019,
    whose code counts none or all of it).
    """

    def __init__(self, dataset: DatasetDescription, metric: str | None = None):
        super().__init__(dataset, metric)
        event = self.event
        # About as many events in each; the last one has the rest.
        shares = np.linspace(0, 1, self.outputs + 1)[1:-1]
        known = np.linspace(0, 1, len(event.quantiles))
        inner = np.interp(shares, known, event.quantiles)
        last = max(dataset.label.number_statistics.max, event.times[-1])
        edges = np.maximum.accumulate([0.0, *inner, last])
        self._starts, self._ends = (np.array(part, np.float32) for part in (edges[:-1], edges[1:]))
        self._passed = self._survived(tf.constant(event.times, tf.float32))

    def _survived(self, times: tf.Tensor) -> tf.Tensor:
        """(b, intervals) share of each interval until a time; 1 after one without a length."""
        width = self._ends - self._starts
        after = times[:, None] - self._starts
        shares = after / np.where(width > 0, width, 1)
        reached = tf.cast(after >= 0, tf.float32)
        return tf.where(width > 0, tf.clip_by_value(shares, 0.0, 1.0), reached)

    def task_losses(self, targets, outputs):
        """Negative log-likelihood, in nats."""
        times, happened = targets[:, 0], targets[:, 1]
        # The first interval that ends at the time or after it.
        place = tf.searchsorted(tf.constant(self._ends), times, side="left")
        place = tf.minimum(place, self.outputs - 1)
        own = tf.one_hot(place, self.outputs)
        before = tf.cast(tf.range(self.outputs)[None] < place[:, None], tf.float32)
        event = happened[:, None]
        passed = event * before + (1 - event) * self._survived(times)
        losses = passed * tf.nn.softplus(outputs) + event * own * tf.nn.softplus(-outputs)
        return tf.reduce_sum(losses, 1)

    def cumulative(self, outputs):
        """See Survival."""
        passed = tf.cast(self._passed, outputs.dtype)
        return tf.linalg.matmul(tf.nn.softplus(outputs), passed, transpose_b=True)
