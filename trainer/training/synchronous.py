"""Steps of all replicas in lockstep: one device, all GPUs of a machine, several machines.

Several steps run in each call into TensorFlow, so that small models do not wait for Python. After a
call every process has the same sums over all replicas: the loss, the correct answers, and whether
any process was asked to stop. So all take the same decisions at the same step, without further
messages.
"""

import sys

import tensorflow as tf

from trainer import storage
from trainer.training import evaluation, speed, step
from trainer.training.distribution import Distribution, check_equal_weights
from trainer.training.input_pipeline import Input
from trainer.training.phases import Phase
from trainer.training.settings import Settings
from trainer.training.sums import Sums
from trainer.training.training_state import TrainingState

# Enough to hide the cost of a call (about 1 ms) behind steps of small models; few enough for a
# large model's call to end well within the 30 seconds that a spot machine leaves after SIGTERM.
STEPS_PER_CALL = 16


class Synchronous:
    """The steps of a training from `first_step` on. See trainer.training.loop.Steps."""

    def __init__(
        self,
        settings: Settings,
        distribution: Distribution,
        state: TrainingState,
        data: Input,
        first_step: int,
    ):
        self._settings, self._distribution = settings, distribution
        self._state, self._data = state, data
        self._batches = data.train(first_step)
        self._checked = False
        self._samples = speed.Samples()
        self.per_call = STEPS_PER_CALL
        self.evaluate = evaluation.build(distribution, state, data)

    def begin(self, phase: Phase) -> None:
        """See Steps."""
        strategy, averages = self._distribution.strategy, self._state.averages
        size = step.size(self._distribution.replicas, self._state.learning.figures)
        sums = Sums(strategy, size)
        set_rate = step.rates(self._settings, self._state, phase, self._data)
        readable = speed.readable(self._distribution)
        one_step = step.build(self._settings, self._distribution, self._state, phase, self._data)

        def replica_step(batch, stop, timed):
            sums_of_step, times = one_step(batch, stop, timed)
            sums.add(sums_of_step)
            return times

        @tf.function(autograph=False)
        def steps(batches, done, count, stop, timed):
            timed = timed if readable else None

            def one(number, ended, spent):
                set_rate(number)
                batch = next(batches)
                begun = tf.maximum(speed.moment(timed, batch), ended)
                replicas = strategy.run(replica_step, args=(batch, stop, timed))
                times = tf.stack(strategy.experimental_local_results(replicas))
                ready, updated = tf.unstack(tf.reduce_max(times, 0))
                if averages:
                    averages.update(tf.cast(number, tf.float32) + 1.0)
                # A moment is read when its thread has its turn, so a later one may come first.
                parts = tf.maximum(tf.stack([begun - ended, ready - begun, updated - ended]), 0.0)
                return number + 1, updated, spent + parts

            sums.clear()
            initial = done, speed.moment(timed, done), tf.zeros([3], tf.float64)
            spent = tf.while_loop(lambda number, *_: number < done + count, one, initial)[2]
            return sums.read(), spent

        self._steps = steps

    def make(self, done: int, count: int, stop: bool) -> step.StepSums:
        """See Steps."""
        timed = speed.readable(self._distribution) and self._samples.due()
        arguments = tf.constant(done), tf.constant(count), tf.constant(stop), tf.constant(timed)
        sums, spent = self._steps(self._batches, *arguments)
        replicas = self._distribution.replicas
        return step.StepSums.of(sums.numpy(), replicas, spent.numpy() if timed else None)

    def check(self, done: int) -> None:
        """See Steps."""
        if not self._checked:
            check_equal_weights(self._state.model, self._distribution, done)
            self._checked = True

    def explain_nonfinite(self, number: int) -> str:
        """See Steps."""
        keys = self._data.keys(number)
        process = self._distribution.cluster.name
        where = self._settings.places.examples_of(f"step-{number + 1}-{process}")
        storage.write_text(str(where), "".join(f"{key}\n" for key in keys))
        print(f"keys of step {number + 1} in this process: {where}", file=sys.stderr)
        return "look at the examples of that step, whose keys each process has written"
