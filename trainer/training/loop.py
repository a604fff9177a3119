"""The training loop: the same for one device, all GPUs of a machine, and several machines.

It is our own, on public API, because Keras' `fit` (3.15) fails under MultiWorkerMirroredStrategy.
Read `fit` first. Several steps run in each call into TensorFlow, so that small models do not wait
for Python. After a call every process knows the same sums over all replicas: the loss, the right
answers, and whether any process was asked to stop. So all take every decision alike, at the same
step, without further messages.
"""

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import keras
import numpy as np
import tensorflow as tf
from keras.callbacks import CallbackList

from trainer.hyperparameters import Hyperparameters
from trainer.training import TrainingError
from trainer.training.distribution import Distribution
from trainer.training.input import Input
from trainer.training.settings import Settings
from trainer.training.stop import StoppedError, StopRequest

# Enough to hide the cost of a call (about 1 ms) behind steps of small models; few enough for a
# large model's call to end well within the 30 seconds that a spot machine leaves after SIGTERM.
STEPS_PER_CALL = 16

# Checkpoints within an epoch; there is one at the end of each anyway.
CHECKPOINT_SECONDS = 60.0

# Sums over one call: places in the vector that all replicas add up.
_LOSS, _RIGHT, _FINITE, _STOP, _FIXED = range(5)


@dataclass
class Progress:
    """How far a training is.

    step: steps done in all. history: one row per epoch done (metrics.json). sums: (2,) loss and
    right answers of the epoch under way; seconds: its duration so far. examples, steps: (replicas,)
    what each replica did in all. stopped_early: by EarlyStopping.
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
        """Take in the sums of a call of `count` steps."""
        self.step += count
        self.seconds += seconds
        self.sums = [old + float(new) for old, new in zip(self.sums, sums, strict=False)]
        examples, steps = np.split(sums[_FIXED:].astype(int), 2)
        self.examples = [old + int(new) for old, new in zip(self.examples, examples, strict=True)]
        self.steps = [old + int(new) for old, new in zip(self.steps, steps, strict=True)]

    def end_epoch(self, row: dict[str, float]) -> None:
        """Close the epoch under way with its row of the history."""
        self.history.append(row)
        self.sums, self.seconds = [0.0, 0.0], 0.0

    def finished(self, epochs: int) -> bool:
        """Whether no further epoch is to be trained."""
        return self.stopped_early or len(self.history) >= epochs

    to_dict = dataclasses.asdict

    def restore(self, values: dict) -> None:
        """Become what `to_dict` has told."""
        for name, value in values.items():
            setattr(self, name, value)


@dataclass(frozen=True)
class Trainee:
    """What is trained. peak_rate: learning rate after the warm-up, over all replicas."""

    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    peak_rate: float


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
    """Train from where `progress` is to the end; the model then has the last epoch's weights.

    save: writes a checkpoint of everything given here. Raises TrainingError if the loss is no
    number any more, StoppedError (after a checkpoint) if any process was asked to stop.
    """
    if progress.finished(settings.epochs):
        return
    h = settings.hyperparameters
    train_steps = _train_steps(h, distribution, trainee, data)
    evaluate = _evaluation(distribution, trainee.model, data)
    batches = data.train(progress.step)
    saved = time.monotonic()
    while not progress.finished(settings.epochs):
        epoch = len(progress.history)
        callbacks.on_epoch_begin(epoch)
        while left := (epoch + 1) * data.steps_per_epoch - progress.step:
            begun, count = time.monotonic(), min(STEPS_PER_CALL, left)
            sums = train_steps(batches, tf.constant(count), tf.constant(stop.noted)).numpy()
            # Some replicas may see it one step later than the others: rounded down.
            if (good := int(sums[_FINITE]) // distribution.replicas) < count:
                distribution.part()
                raise _diverged(progress.step + good + 1, epoch + 1, trainee, h)
            progress.add(sums, count, time.monotonic() - begun)
            if sums[_STOP]:
                save()
                distribution.part()
                raise StoppedError(f"asked to stop after step {progress.step} (epoch {epoch + 1})")
            if count < left and time.monotonic() - saved > CHECKPOINT_SECONDS:
                save()
                saved = time.monotonic()
        begun = time.monotonic()
        val_loss, val_accuracy = evaluate()
        if not math.isfinite(val_loss):
            distribution.part()
            raise _diverged(progress.step, epoch + 1, trainee, h)
        loss, right = progress.sums
        examples = data.steps_per_epoch * data.global_batch
        row = {
            "loss": loss / examples,
            "accuracy": right / examples,
            "val_loss": val_loss,
            "val_accuracy": val_accuracy,
            "learning_rate": float(trainee.optimizer.learning_rate.numpy()),
            "seconds": round(progress.seconds + time.monotonic() - begun, 3),
        }
        progress.end_epoch({"epoch": epoch + 1, **row})
        callbacks.on_epoch_end(epoch, row)
        progress.stopped_early = trainee.model.stop_training
        save()
        saved = time.monotonic()


class _Sums:
    """A vector that each replica adds to on its own; reading it sums over all replicas."""

    def __init__(self, strategy: tf.distribute.Strategy, size: int):
        self._zeros = tf.zeros([size])
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
        parts = [tf.reshape(tf.cast(part, tf.float32), [-1]) for part in parts]
        self._variable.assign_add(tf.concat(parts, 0))

    def read(self):
        return self._variable.read_value()


def _train_steps(h: Hyperparameters, distribution: Distribution, trainee: Trainee, data: Input):
    """A function (batches, count, stop) that makes `count` steps and returns their sums."""
    strategy, replicas = distribution.strategy, distribution.replicas
    model, optimizer = trainee.model, trainee.optimizer
    sums = _Sums(strategy, _FIXED + 2 * replicas)
    warmup_steps = h.warmup_epochs * data.steps_per_epoch
    global_batch = float(data.global_batch)

    def replica_step(batch, stop):
        images, labels = batch
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            targets = _smoothed(labels, logits, h.label_smoothing)
            # Each replica divides by the whole batch: the optimizer sums gradients over replicas.
            objective = tf.nn.softmax_cross_entropy_with_logits(targets, logits)
            objective = tf.reduce_sum(objective) / global_batch
        gradients = tape.gradient(objective, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        losses, right = _scores(labels, logits)
        me = tf.one_hot(tf.distribute.get_replica_context().replica_id_in_sync_group, replicas)
        examples = tf.cast(tf.shape(labels)[0], tf.float32)
        sums.add(
            tf.reduce_sum(losses),
            tf.reduce_sum(right),
            tf.math.is_finite(objective),
            stop,
            examples * me,
            me,
        )

    def warm_up():
        step = tf.cast(optimizer.iterations.value, tf.float32)
        rising = trainee.peak_rate * (step + 1.0) / warmup_steps
        # After the warm-up the rate is the callbacks' to change.
        rate = tf.where(step < warmup_steps, tf.minimum(rising, trainee.peak_rate), _rate())
        optimizer.learning_rate.assign(rate)

    def _rate():
        return tf.convert_to_tensor(optimizer.learning_rate)

    @tf.function
    def train_steps(batches, count, stop):
        sums.clear()
        for _ in tf.range(count):
            if warmup_steps:
                warm_up()
            strategy.run(replica_step, args=(next(batches), stop))
        return sums.read()

    return train_steps


def _evaluation(distribution: Distribution, model: keras.Model, data: Input):
    """A function () -> (mean loss, accuracy) over the validation split.

    It raises TrainingError if that was not each example of the description exactly once.
    """
    strategy = distribution.strategy
    sums = _Sums(strategy, 3)
    batches = data.evaluation("validation")
    steps = tf.constant(data.evaluation_steps("validation"))

    def replica_step(batch):
        images, labels, weights = batch
        losses, right = _scores(labels, model(images, training=False))
        sums.add(*(tf.reduce_sum(v * weights) for v in (losses, right, tf.ones_like(weights))))

    @tf.function
    def evaluate_steps(batches, count):
        sums.clear()
        for _ in tf.range(count):
            strategy.run(replica_step, args=(next(batches),))
        return sums.read()

    def evaluate() -> tuple[float, float]:
        loss, right, examples = evaluate_steps(batches, steps).numpy().astype(float)
        if examples != data.examples("validation"):
            raise TrainingError(
                f"the validation split has {data.examples('validation')} examples by its "
                f"dataset.json, but {examples:.0f} in its files: export the dataset again"
            )
        return loss / examples, right / examples

    return evaluate


def _smoothed(labels: tf.Tensor, logits: tf.Tensor, smoothing: float) -> tf.Tensor:
    classes = logits.shape[-1]
    return tf.one_hot(labels, classes, 1 - smoothing + smoothing / classes, smoothing / classes)


def _scores(labels: tf.Tensor, logits: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Cross-entropy in nats, and 1 where the most probable class is right; (batch,) each."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return losses, tf.cast(tf.argmax(logits, -1) == labels, tf.float32)


def _diverged(step: int, epoch: int, trainee: Trainee, h: Hyperparameters) -> TrainingError:
    return TrainingError(
        f"the loss is not a number at step {step} (epoch {epoch}), learning rate "
        f"{float(trainee.optimizer.learning_rate.numpy()):.3g}: the training diverged. Lower "
        f"learning_rate ({h.learning_rate:g}) or raise warmup_epochs ({h.warmup_epochs:g})"
    )
