"""The training loop: the same for one device, all GPUs of a machine, and several machines.

It is our own, on public API, because Keras' `fit` (3.15) fails under MultiWorkerMirroredStrategy.
Read `fit` first. Several steps run in each call into TensorFlow, so that small models do not wait
for Python. After a call every process has the same sums over all replicas: the loss, the correct
answers, and whether any process was asked to stop. So all take the same decisions at the same step,
without further messages.
"""

import contextlib
import dataclasses
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import keras
import numpy as np
import tensorflow as tf
from keras.callbacks import CallbackList

from trainer.training import TrainingError, checkpoints, phases, schedule
from trainer.training.averages import Averages
from trainer.training.distribution import Distribution, check_equal_weights
from trainer.training.input_pipeline import Input
from trainer.training.objectives.objective import Objective, of_mixed
from trainer.training.phases import Phase
from trainer.training.settings import Settings
from trainer.training.stop import StoppedError, StopRequest

# Enough to hide the cost of a call (about 1 ms) behind steps of small models; few enough for a
# large model's call to end well within the 30 seconds that a spot machine leaves after SIGTERM.
STEPS_PER_CALL = 16

# Checkpoints within an epoch, in addition to the one at its end.
CHECKPOINT_SECONDS = 60.0

# Examples that are named when the loss is no number.
_SHOWN_KEYS = 64

# Sums over one call: places in the vector that all replicas add up.
_MEASURES = slice(0, 2)
_FINITE, _STOP, _FIXED = range(2, 5)


@dataclass
class Progress:
    """Progress of a training.

    step: steps done in all. history: one row per epoch done (metrics.json). sums: (2,) the
    objective's measures over the epoch under way; seconds: its duration so far. examples, steps:
    (replicas,) what each replica did in all. stopped_early: by EarlyStopping.
    """

    replicas: int
    step: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0])
    seconds: float = 0.0
    examples: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    stopped_early: bool = False

    def __post_init__(self):
        self.examples = self.examples or [0] * self.replicas
        self.steps = self.steps or [0] * self.replicas

    def add(self, sums: np.ndarray, count: int, seconds: float) -> None:
        """Add the sums of a call of `count` steps."""
        self.step += count
        self.seconds += seconds
        self.sums = [old + float(new) for old, new in zip(self.sums, sums[_MEASURES], strict=True)]
        examples, steps = np.split(sums[_FIXED:].astype(int), 2)
        self.examples = [old + int(new) for old, new in zip(self.examples, examples, strict=True)]
        self.steps = [old + int(new) for old, new in zip(self.steps, steps, strict=True)]

    def end_epoch(self, row: dict[str, float]) -> None:
        """End the current epoch with its row of the history."""
        self.history.append(row)
        self.sums, self.seconds = [0.0, 0.0], 0.0

    def finished(self, epochs: int) -> bool:
        """Whether the training has ended."""
        return self.stopped_early or len(self.history) >= epochs

    to_dict = dataclasses.asdict

    def restore(self, values: dict) -> None:
        """Restore what `to_dict` returned."""
        for name, value in values.items():
            setattr(self, name, value)


@dataclass(frozen=True)
class Trainee:
    """The model, its optimizer and objective.

    peak_rate: learning rate after the warm-up, over all replicas. phases: in their order. averages:
    None if none are kept.
    """

    model: keras.Model
    objective: Objective
    optimizer: keras.optimizers.Optimizer
    peak_rate: float
    phases: list[Phase]
    averages: Averages | None = None

    def in_use(self) -> contextlib.AbstractContextManager[None]:
        """A context in which the model has the weights that are evaluated and exported."""
        return self.averages.in_place() if self.averages else contextlib.nullcontext()


def fit(
    settings: Settings,
    distribution: Distribution,
    trainee: Trainee,
    data: Input,
    callbacks: CallbackList,
    progress: Progress,
    save: Callable[[], None],
    stop: StopRequest,
) -> None:
    """Train from `progress` to the end; the model then has the last epoch's weights.

    save: writes a checkpoint of everything given here. Raises TrainingError if the loss is no
    number any more or the processes hold different weights after the first call, StoppedError
    (after a checkpoint) if any process was asked to stop.
    """
    if progress.finished(settings.epochs):
        return
    phase = None
    evaluate = _evaluation(distribution, trainee, data)
    batches = data.train(progress.step)
    saved, checked = time.monotonic(), False
    while not progress.finished(settings.epochs):
        epoch = len(progress.history)
        if (current := phases.at(trainee.phases, epoch)) is not phase:
            phase = current
            train_steps = _train_steps(settings, distribution, trainee, phase, data)
        callbacks.on_epoch_begin(epoch)
        while left := (epoch + 1) * data.steps_per_epoch - progress.step:
            begun, count = time.monotonic(), min(STEPS_PER_CALL, left)
            step = tf.constant(progress.step)
            sums = train_steps(batches, step, tf.constant(count), tf.constant(stop.noted)).numpy()
            # Some replicas may see it one step later than the others: rounded down.
            if (good := int(sums[_FINITE]) // distribution.replicas) < count:
                distribution.part()
                _print_keys(data, progress.step + good)
                raise _diverged(settings, progress.step + good + 1, epoch + 1, trainee)
            progress.add(sums, count, time.monotonic() - begun)
            if not checked:
                check_equal_weights(trainee.model, distribution, progress.step)
                checked = True
            if sums[_STOP]:
                save()
                distribution.part()
                raise StoppedError(f"asked to stop after step {progress.step} (epoch {epoch + 1})")
            if count < left and time.monotonic() - saved > CHECKPOINT_SECONDS:
                save()
                saved = time.monotonic()
        begun = time.monotonic()
        with trainee.in_use():
            validation = evaluate()
            if not math.isfinite(validation["loss"]):
                distribution.part()
                raise _diverged(settings, progress.step, epoch + 1, trainee)
            row = {
                **trainee.objective.means(progress.sums, data.steps_per_epoch * data.global_batch),
                **{f"val_{name}": value for name, value in validation.items()},
                "learning_rate": float(trainee.optimizer.learning_rate.numpy()),
                "seconds": round(progress.seconds + time.monotonic() - begun, 3),
            }
            progress.end_epoch({"epoch": epoch + 1, **row})
            callbacks.on_epoch_end(epoch, row)
        progress.stopped_early = trainee.model.stop_training
        save()
        saved = time.monotonic()


class _Sums:
    """A vector that each replica adds to on its own; reading it sums over all replicas.

    In float64: float32 would lose count at 16 million examples.
    """

    def __init__(self, strategy: tf.distribute.Strategy, size: int):
        self._zeros = tf.zeros([size], tf.float64)
        with strategy.scope():
            self._variable = tf.Variable(
                self._zeros,
                trainable=False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )

    def clear(self):
        self._variable.assign(self._zeros)

    def add(self, *parts):
        flat = [tf.reshape(tf.cast(part, tf.float64), [-1]) for part in parts]
        self._variable.assign_add(tf.concat(flat, 0))

    def read(self):
        return self._variable.read_value()


def _train_steps(
    settings: Settings, distribution: Distribution, trainee: Trainee, phase: Phase, data: Input
) -> Callable[..., tf.Tensor]:
    """A function (batches, steps done, count, stop) that makes `count` steps and returns their
    sums.
    """
    strategy, replicas = distribution.strategy, distribution.replicas
    model, optimizer, objective = trainee.model, trainee.optimizer, trainee.objective
    sums = _Sums(strategy, _FIXED + 2 * replicas)
    h, variables = settings.hyperparameters, phase.variables
    first_step = float(phase.epoch * data.steps_per_epoch)
    length = phases.end(trainee.phases, phase, settings.epochs) - phase.epoch
    rate_of = schedule.build(h, trainee.peak_rate * phase.rate, data.steps_per_epoch, length)
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
        back = tf.function(back, jit_compile=True)

    def accumulated(*batch):
        """The same, one batch_size after the other."""

        def part(index):
            rows = slice(index * h.batch_size, (index + 1) * h.batch_size)
            return back(*tf.nest.map_structure(lambda values: values[rows], batch))

        def add(index, sums):
            return index + 1, tf.nest.map_structure(tf.add, sums, part(index))

        return tf.while_loop(lambda i, _: i < h.accumulation, add, (1, part(0)))[1]

    def clipped(gradients):
        context = tf.distribute.get_replica_context()
        # Of the whole batch, as if there were one replica; the optimizer will add them up again.
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        total, _ = tf.clip_by_global_norm(total, optimizer.scale_loss(h.clip_norm))
        return [gradient / replicas for gradient in total]

    def replica_step(batch, stop):
        loss, measures, gradients = (accumulated if h.accumulation > 1 else back)(*batch)
        if h.clip_norm:
            gradients = clipped(gradients)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        me = tf.one_hot(tf.distribute.get_replica_context().replica_id_in_sync_group, replicas)
        examples = tf.cast(tf.shape(batch[-1])[0], tf.float32)
        sums.add(
            *measures,
            tf.math.is_finite(loss),
            stop,
            examples * me,
            me,
        )

    @tf.function
    def train_steps(batches, done, count, stop):
        sums.clear()
        # Not the optimizer's count, which leaves out steps whose gradient overflowed.
        for step in tf.range(done, done + count):
            step = tf.cast(step, tf.float32)
            rate = tf.convert_to_tensor(optimizer.learning_rate)
            optimizer.learning_rate.assign(rate_of(step - first_step, rate))
            strategy.run(replica_step, args=(next(batches), stop))
            if trainee.averages:
                trainee.averages.update(step + 1.0)
        return sums.read()

    return train_steps


def _evaluation(
    distribution: Distribution, trainee: Trainee, data: Input
) -> Callable[[], dict[str, float]]:
    """A function () -> metrics over the validation split.

    It raises TrainingError if that was not each example of the description exactly once.
    """
    strategy, objective = distribution.strategy, trainee.objective
    sums, columns = _Sums(strategy, 3 + objective.tallies), 1 + objective.gathered
    batches = data.evaluation("validation")
    steps = tf.constant(data.evaluation_steps("validation"))

    def replica_step(batch):
        inputs, labels, weights = batch
        outputs = trainee.model(inputs, training=False)
        measures = objective.measures(labels, outputs)
        sums.add(
            *(tf.reduce_sum(v * weights) for v in (*measures, tf.ones_like(weights))),
            objective.tally(labels, outputs, weights),
        )
        if not objective.gathered:
            return tf.zeros([0, 1])
        return tf.concat([weights[:, None], objective.ranked(labels, outputs)], 1)

    @tf.function
    def evaluate_steps(batches, count):
        """Sums over all replicas, and what this process's replicas return, (any, columns)."""
        sums.clear()
        shape = [None, columns]
        ranked = tf.TensorArray(tf.float32, count, element_shape=shape, infer_shape=False)
        for step in tf.range(count):
            results = strategy.run(replica_step, args=(next(batches),))
            local = tf.concat(strategy.experimental_local_results(results), 0)
            ranked = ranked.write(step, local)
        return sums.read(), ranked.concat()

    def evaluate() -> dict[str, float]:
        totals, ranked = evaluate_steps(batches, steps)
        totals = totals.numpy()
        *means, examples = totals[:3].tolist()
        if examples != data.examples("validation"):
            raise TrainingError(
                f"the validation split has {data.examples('validation')} examples by its "
                f"dataset.json, but {examples:.0f} in its files: export the dataset again"
            )
        metrics = objective.means(means, examples)
        metrics |= objective.tallied(totals[3:], metrics, examples)
        if objective.gathered:
            # Bits of float32 as int32, which is what can be gathered.
            everyone = distribution.gather(ranked.numpy().ravel().view(np.int32))
            rows = everyone.view(np.float32).reshape(-1, columns)
            metrics |= objective.orders(rows[rows[:, 0] > 0, 1:])
        return metrics

    return evaluate


def _print_keys(data: Input, step: int) -> None:
    """Which examples this process had in a step, from 0, in which the loss was no number."""
    keys = data.keys(step)
    more = f" and {len(keys) - _SHOWN_KEYS} more" if len(keys) > _SHOWN_KEYS else ""
    shown = ", ".join(keys[:_SHOWN_KEYS])
    print(f"examples of step {step + 1} in this process: {shown}{more}", file=sys.stderr)


def _diverged(settings: Settings, step: int, epoch: int, trainee: Trainee) -> TrainingError:
    h, last = settings.hyperparameters, checkpoints.latest(settings.places.checkpoints)
    none = last == checkpoints.NONE
    kept = "there is no checkpoint" if none else f"the last good checkpoint is {last}"
    return TrainingError(
        f"the loss is not a number at step {step} (epoch {epoch}), learning rate "
        f"{float(trainee.optimizer.learning_rate.numpy()):.3g}: the training diverged. Lower "
        f"learning_rate ({h.learning_rate:g}) or raise warmup_epochs ({h.warmup_epochs:g}), or "
        f"look at the examples of that step, which each process has printed; {kept}"
    )
