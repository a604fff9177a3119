"""One step of one replica: forward, back, accumulated, clipped, applied."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from trainer.training import TrainingError, gradients, phases, schedule, speed
from trainer.training.distribution import Distribution
from trainer.training.input_pipeline import Input
from trainer.training.phases import Phase
from trainer.training.settings import Settings
from trainer.training.sums import vector
from trainer.training.training_state import TrainingState

# Numbers in the vector that the steps add up: those of all replicas, and of each one. The figures
# of the train split follow.
_SHARED, _OF_REPLICA = 2, 2


@dataclass(frozen=True)
class StepSums:
    """Sums of the steps of one call over all replicas.

    figures: of the train split, over the examples. finite: replicas' steps whose loss was a
    number. stop: whether any process was asked to stop. examples, steps: (replicas,) of each
    replica. spent: (3,) seconds for which this process waited for input, then until it had its own
    gradients, and of its steps in all; None where they were not measured.
    """

    figures: np.ndarray
    finite: int
    stop: bool
    examples: np.ndarray
    steps: np.ndarray
    spent: np.ndarray | None = None

    @classmethod
    def of(cls, sums: np.ndarray, replicas: int, spent: np.ndarray | None = None) -> "StepSums":
        """Split the sum of the vectors that steps return."""
        ends = [1, _SHARED, _SHARED + replicas, _SHARED + _OF_REPLICA * replicas]
        finite, stop, examples, steps, figures = np.split(sums, ends)
        counts = examples.astype(int), steps.astype(int)
        return cls(figures, int(finite[0]), bool(stop[0]), *counts, spent)


def size(replicas: int, figures: int) -> int:
    """Length of the vector that a step returns."""
    return _SHARED + _OF_REPLICA * replicas + figures


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
) -> Callable[..., tuple[tf.Tensor, tf.Tensor]]:
    """A function (batch, stop, timed) that makes a replica's step and returns its vector for
    StepSums, and float64 (2,) the times when it had its gradients and when it had updated the
    weights (timed: as of trainer.training.speed.moment).

    It runs within a replica of the strategy.
    """
    replicas = distribution.replicas
    optimizer, learning = state.optimizer, state.learning
    h, variables = settings.common, phase.variables
    global_batch = float(data.global_batch)

    def back(inputs, labels, weights):
        """Loss, figures, and gradients, all summed over the examples."""
        with tf.GradientTape(persistent=learning.several) as tape:
            parts, figures = learning.parts(inputs, labels, weights)
            # Each replica divides by the whole batch: the optimizer sums gradients over replicas.
            # By its size, not by its weights: then the mean over all batches of an epoch is that
            # over all examples, however they are shared out.
            losses = [tf.reduce_sum(part.losses) / global_batch for part in parts]
            scaled = [optimizer.scale_loss(loss) for loss in losses]
        moved = [part.variables for part in parts]
        slopes = gradients.of_parts(tape, list(zip(scaled, moved, strict=True)), variables)
        if idle := [v.path for v, slope in zip(variables, slopes, strict=True) if slope is None]:
            names = ", ".join(idle[:5])
            raise TrainingError(f"what is minimized does not depend on the weights {names}")
        return tf.add_n(losses), [tf.reduce_sum(figure) for figure in figures], slopes

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

    def clipped(slopes):
        context = tf.distribute.get_replica_context()
        # The norm is the whole batch's; the optimizer will add up the replicas' gradients again.
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, slopes)
        total, _ = tf.clip_by_global_norm(total, optimizer.scale_loss(h.clip_norm))
        return [gradient / replicas for gradient in total]

    def step(batch, stop, timed=None):
        cut = h.accumulation > 1 and not state.objective.whole
        loss, figures, slopes = (accumulated if cut else back)(*batch)
        # The first variable is the last that has a gradient, and so that is updated.
        ready = speed.moment(timed, slopes[0])
        if h.clip_norm:
            slopes = clipped(slopes)
        optimizer.apply_gradients(zip(slopes, variables, strict=True))
        me = tf.one_hot(tf.distribute.get_replica_context().replica_id_in_sync_group, replicas)
        examples = tf.cast(tf.shape(batch[-1])[0], tf.float32)
        sums = vector(tf.math.is_finite(loss), stop, examples * me, me, *figures)
        return sums, tf.stack([ready, speed.moment(timed, tf.convert_to_tensor(variables[0]))])

    return step
