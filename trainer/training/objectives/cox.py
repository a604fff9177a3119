"""Cox's proportional hazards: the partial likelihood of a global batch, ties by Efron, and
Breslow's baseline of the train split.

An example's term depends on all that are at risk at its time, so each replica computes the whole
likelihood of the examples of all of them, and lets its gradient flow back through its own outputs.
Replicas together then have the gradient that one would have, however the examples are shared out.
"""

import numpy as np
import tensorflow as tf

from trainer.metrics import survival_estimates as estimates
from trainer.training.objectives.survival import Survival
from trellis_contracts.dataset import DatasetDescription

_LEAST = 1e-300


class Cox(Survival):
    """Outputs are (b, 1), the logarithm of the hazard relative to the baseline. baseline: (times,)
    cumulative, at the label's times, once `settle` has estimated it.
    """

    whole, settles = True, True

    def __init__(self, dataset: DatasetDescription, metric: str | None = None):
        super().__init__(dataset, metric)
        self.baseline: np.ndarray | None = None

    def weighted(self, labels, outputs, weights):
        """See Objective: terms of the negative log partial likelihood of the global batch, whose
        gradient by these outputs is that of all terms.
        """
        if self.own is not None:
            return super().weighted(labels, outputs, weights)
        own = tf.cast(outputs[:, 0], tf.float64)
        columns = [tf.cast(part, tf.float64) for part in (labels, weights[:, None])]
        mine = tf.concat([*columns, tf.stop_gradient(own)[:, None]], 1)
        context = tf.distribute.get_replica_context()
        everyone, first = mine, 0
        if context is not None and context.num_replicas_in_sync > 1:
            everyone = context.all_gather(mine, axis=0)
            first = context.replica_id_in_sync_group * tf.shape(mine)[0]
        risks = everyone[:, 3]
        with tf.GradientTape() as tape:
            tape.watch(risks)
            terms = efron(everyone[:, 0], everyone[:, 1], everyone[:, 2], risks)
            total = tf.reduce_sum(terms)
        rows = first + tf.range(tf.shape(mine)[0])
        slopes = tf.stop_gradient(tf.gather(tape.gradient(total, risks), rows))
        terms = tf.stop_gradient(tf.gather(terms, rows))
        # The value of the terms, with the gradient of the whole.
        return tf.cast(terms + slopes * (own - tf.stop_gradient(own)), tf.float32)

    def task_losses(self, targets, outputs):
        """Terms of the negative log partial likelihood of these examples alone."""
        times, events, risks = (
            tf.cast(part, tf.float64) for part in (targets[:, 0], targets[:, 1], outputs[:, 0])
        )
        return tf.cast(efron(times, events, tf.ones_like(times), risks), tf.float32)

    def measures(self, labels, outputs):
        """The terms, and the events."""
        return self.task_losses(labels, outputs), labels[:, 1]

    def means(self, sums, examples):
        """loss: of an event, in nats, within the batches of one replica."""
        return {"loss": sums[0] / max(sums[1], 1.0)}

    def cumulative(self, outputs):
        """See Survival. Raises TypeError before there is a baseline."""
        if self.baseline is None:
            raise TypeError("the baseline has not been estimated")
        return tf.exp(outputs) * tf.constant(self.baseline, outputs.dtype)[None]

    def evaluated(self, labels, outputs):
        """See Survival; the loss is that of all examples. The baseline is that of these examples:
        that of the train split is estimated when the training has ended.
        """
        labels = labels.astype(np.float64)
        terms = self.task_losses(tf.constant(labels), tf.constant(outputs)).numpy()
        self.settle(labels, outputs, np.ones(len(labels)))
        found = super().evaluated(labels, outputs)
        self.baseline = None
        return {"loss": float(terms.sum() / max(labels[:, 1].sum(), 1)), **found}

    def settle(self, labels, outputs, weights):
        """See Objective: Breslow's estimate."""
        self.baseline = estimates.breslow(
            np.asarray(labels, np.float64),
            np.asarray(outputs, np.float64)[:, 0],
            np.asarray(weights, np.float64),
            np.array(self.event.times),
        )


def efron(times: tf.Tensor, events: tf.Tensor, weights: tf.Tensor, risks: tf.Tensor) -> tf.Tensor:
    """(n,) terms of the negative log partial likelihood, 0 of what is censored; all (n,) float64.

    Of d events at one time, the l-th, from 0, takes l / d of them off those at risk (Efron, Journal
    of the American Statistical Association 72, 1977), with their mean weight.
    """
    count = tf.shape(times)[0]
    order = tf.argsort(times, stable=True)
    times, events, weights, risks = (
        tf.gather(part, order) for part in (times, events, weights, risks)
    )
    # exp of the largest is 1; all that is subtracted cancels out in the sum of the terms.
    risks -= tf.stop_gradient(tf.reduce_max(risks))
    hazards = weights * tf.exp(risks)
    new = tf.concat([[0], tf.cast(times[1:] > times[:-1], tf.int32)], 0)
    tie = tf.cumsum(new)

    def of_tie(values: tf.Tensor) -> tf.Tensor:
        return tf.gather(tf.math.unsorted_segment_sum(values, tie, count), tie)

    left = tf.cumsum(hazards, reverse=True)
    left = tf.gather(tf.math.unsorted_segment_max(left, tie, count), tie)
    deaths = of_tie(events)
    before = tf.cumsum(events, exclusive=True)
    before -= tf.gather(tf.math.unsorted_segment_min(before, tie, count), tie)
    share = tf.math.divide_no_nan(before, deaths)
    mean_weight = tf.math.divide_no_nan(of_tie(events * weights), deaths)
    at_risk = left - share * of_tie(events * hazards)
    at_risk = tf.where(events > 0, at_risk, 1.0)
    # Nothing is at risk of examples that weigh nothing.
    logs = tf.math.log(tf.maximum(at_risk, _LEAST))
    terms = events * (mean_weight * logs - weights * risks)
    return tf.gather(terms, tf.argsort(order))
