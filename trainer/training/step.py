"""One step of one replica: forward, back, accumulated, clipped, applied."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from trainer.training import phases, schedule
from trainer.training.distribution import Distribution
from trainer.training.input_pipeline import Input
from trainer.training.objectives.objective import of_mixed
from trainer.training.phases import Phase
from trainer.training.settings import Settings
from trainer.training.sums import vector
from trainer.training.training_state import TrainingState

# Places in the vector that the steps add up.
_MEASURES = slice(0, 2)
_FINITE, _STOP, _FIXED = range(2, 5)


@dataclass(frozen=True)
class StepSums:
    """Sums of the steps of one call over all replicas.

    measures: (2,) of the objective, over the examples. finite: replicas' steps whose loss was a
    number. stop: whether any process was asked to stop. examples, steps: (replicas,) of each
    replica.
    """

    measures: np.ndarray
    finite: int
    stop: bool
    examples: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, sums: np.ndarray) -> "StepSums":
        """Split the sum of the vectors that steps return."""
        examples, steps = np.split(sums[_FIXED:].astype(int), 2)
        return cls(sums[_MEASURES], int(sums[_FINITE]), bool(sums[_STOP]), examples, steps)


def size(replicas: int) -> int:
    """Length of the vector that a step returns."""
    return _FIXED + 2 * replicas


def rates(
    settings: Settings, state: TrainingState, phase: Phase, data: Input
) -> Callable[[tf.Tensor], None]:
    """A function (steps done, int) that sets the learning rate of the next step of a phase."""
    h, optimizer = settings.common, state.optimizer
    first_step = float(phase.epoch * data.steps_per_epoch)
    length = phases.end(state.phases, phase, settings.epochs) - phase.epoch
    rate_of = schedule.build(h, state.peak_rate * phase.rate, data.steps_per_epoch, length)

    def assign(done: tf.Tensor) -> None:
        # Not the optimizer's count, which leaves out steps whose gradient overflowed.
        rate = tf.convert_to_tensor(optimizer.learning_rate)
        optimizer.learning_rate.assign(rate_of(tf.cast(done, tf.float32) - first_step, rate))

    return assign


def build(
    settings: Settings, distribution: Distribution, state: TrainingState, phase: Phase, data: Input
) -> Callable[[tuple, tf.Tensor], tf.Tensor]:
    """A function (batch, stop) that makes a replica's step and returns its vector for StepSums.

    It runs within a replica of the strategy.
    """
    replicas = distribution.replicas
    model, optimizer, objective = state.model, state.optimizer, state.objective
    h, variables = settings.common, phase.variables
    global_batch = float(data.global_batch)

    def back(inputs, labels, weights):
        """Loss, the objective's measures, and gradients, all summed over the examples."""
        with tf.GradientTape() as tape:
            outputs = model(inputs, training=True)
            # Each replica divides by the whole batch: the optimizer sums gradients over replicas.
            # By its size, not by its weights: then the mean over all batches of an epoch is that
            # over all examples, however they are shared out.
            losses = of_mixed(objective.losses, labels, outputs) * weights
            loss = tf.reduce_sum(losses) / global_batch
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, variables)
        # An embedding's gradient names its rows: summed up here, every strategy can add it up.
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        measures = of_mixed(objective.measures, labels, outputs)
        return loss, [tf.reduce_sum(measure) for measure in measures], gradients

    if h.jit_compile:
        back = tf.function(back, autograph=False, jit_compile=True)

    def accumulated(*batch):
        """Call `back` on one batch_size after the other and add up its results."""

        def of_slice(index):
            rows = slice(index * h.batch_size, (index + 1) * h.batch_size)
            return back(*tf.nest.map_structure(lambda values: values[rows], batch))

        def add(index, sums):
            return index + 1, tf.nest.map_structure(tf.add, sums, of_slice(index))

        return tf.while_loop(lambda i, _: i < h.accumulation, add, (1, of_slice(0)))[1]

    def clipped(gradients):
        context = tf.distribute.get_replica_context()
        # The norm is the whole batch's; the optimizer will add up the replicas' gradients again.
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        total, _ = tf.clip_by_global_norm(total, optimizer.scale_loss(h.clip_norm))
        return [gradient / replicas for gradient in total]

    def step(batch, stop):
        loss, measures, gradients = (accumulated if h.accumulation > 1 else back)(*batch)
        if h.clip_norm:
            gradients = clipped(gradients)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        me = tf.one_hot(tf.distribute.get_replica_context().replica_id_in_sync_group, replicas)
        examples = tf.cast(tf.shape(batch[-1])[0], tf.float32)
        return vector(*measures, tf.math.is_finite(loss), stop, examples * me, me)

    return step
