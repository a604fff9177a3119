"""Asynchronous training: servers hold the weights, and each worker updates them at its own pace.

    chief    decides and writes: hands out steps, evaluates, saves checkpoints and the results
    worker   makes steps: reads the weights, computes a gradient, sends it
    ps       holds its share of the variables

A fast worker does not wait for a slow one, and a lost worker costs nothing but its last steps: the
others go on, and it joins them again. What it costs is that gradients are of weights some steps
old, and that no training is like another, bit for bit. It pays where machines differ in speed or
come and go; in lockstep (trainer.training.synchronous) all wait for the slowest.

Only the chief runs the loop; workers and servers run `serve`, TensorFlow's own server, until the
chief is gone. Each worker goes through the whole train split again and again, in orders of its own;
an epoch is as many steps as one pass would be.
"""

import dataclasses
import os
import signal
from collections.abc import Callable

import keras
import tensorflow as tf

from trainer.training import TrainingError, evaluation, rendezvous, step
from trainer.training.cluster import Cluster
from trainer.training.distribution import Distribution
from trainer.training.input_pipeline import Input
from trainer.training.phases import Phase
from trainer.training.settings import Settings
from trainer.training.training_state import TrainingState

# Steps that a worker makes in one call: few, because a lost worker's are made again.
_STEPS_PER_CALL = 4
# Calls for each worker between two looks of the chief, which wait for the slowest.
_CALLS = 4


def serve(cluster: Cluster) -> None:
    """Be a worker or a server until the chief is gone. Raises TrainingError if it does not come."""
    # Else a lost process would be waited for, not reported to the chief.
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    jobs: dict[str, list[str]] = {}
    for name, address in cluster.addresses.items():
        jobs.setdefault(name.partition(":")[0], []).append(address)
    kind, _, index = cluster.name.partition(":")
    tf.distribute.Server(jobs, kind, int(index), protocol="grpc")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    print(f"{cluster.name}: waiting for the chief's steps", flush=True)
    rendezvous.until_gone(cluster)


class Asynchronous:
    """The steps of a training from an epoch on. See trainer.training.loop.Steps.

    copy: another model like that of `state`, whose weights are the chief's own: it evaluates there.
    """

    def __init__(
        self,
        settings: Settings,
        distribution: Distribution,
        state: TrainingState,
        data: Input,
        first_epoch: int,
        copy: keras.Model,
    ):
        if distribution.replicas > 1:
            raise TrainingError(
                f"with parameter servers a worker computes on one GPU, and these have "
                f"{distribution.replicas}: use smaller machines and more workers"
            )
        self._settings, self._distribution = settings, distribution
        self._state, self._data, self._copy = state, data, copy
        strategy = distribution.strategy
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        batches = self._coordinator.create_per_worker_dataset(
            lambda: strategy.distribute_datasets_from_function(
                lambda context: data.passes(context, first_epoch)
            )
        )
        self._batches = iter(batches)
        workers = sum(name.startswith("worker:") for name in distribution.servers)
        self.per_call = _STEPS_PER_CALL * _CALLS * workers
        evaluated = dataclasses.replace(state, model=copy)
        self._evaluate = evaluation.build(distribution.alone, evaluated, data)

    def begin(self, phase: Phase) -> None:
        """See Steps."""
        strategy, optimizer = self._distribution.strategy, self._state.optimizer
        averages = self._state.averages
        set_rate = step.rates(self._settings, self._state, phase, self._data)
        one_step = step.build(self._settings, self._distribution, self._state, phase, self._data)
        never = tf.constant(False)
        zeros = tf.zeros([step.size(1, self._state.learning.figures)], tf.float64)

        @tf.function(autograph=False)
        def steps(batches, done, count):
            def one(number, sums):
                set_rate(number)
                sums += strategy.run(one_step, args=(next(batches), never))[0]
                if averages:
                    averages.update(tf.cast(number, tf.float32) + 1.0)
                return number + 1, sums

            # Two workers that count at once may count one step: the chief's count is the true one.
            optimizer.iterations.assign(tf.cast(done, optimizer.iterations.dtype))
            return tf.while_loop(lambda number, _: number < done + count, one, (done, zeros))[1]

        self._steps: Callable[..., tf.Tensor] = steps

    def make(self, done: int, count: int, stop: bool) -> step.StepSums:
        """See Steps."""
        calls = [
            self._coordinator.schedule(
                self._steps,
                (
                    self._batches,
                    tf.constant(first),
                    tf.constant(min(_STEPS_PER_CALL, done + count - first)),
                ),
            )
            for first in range(done, done + count, _STEPS_PER_CALL)
        ]
        self._coordinator.join()
        sums = sum(call.fetch() for call in calls)
        return dataclasses.replace(step.StepSums.of(sums, 1), stop=stop)

    def check(self, done: int) -> None:
        """See Steps. There is only one copy of the weights."""

    def explain_nonfinite(self, number: int) -> str:
        """See Steps. Which worker made the step, and of what, is not known."""
        return "look at the data (with parameter servers a step's examples are not known)"

    def evaluate(self) -> dict[str, float]:
        """See Steps."""
        self._copy.set_weights(self._state.model.get_weights())
        return self._evaluate()
