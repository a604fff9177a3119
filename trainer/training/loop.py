"""The training loop: the same for one device, all GPUs of a machine, and several machines.

It is our own, on public API, because Keras' `fit` (3.15) fails under MultiWorkerMirroredStrategy.
Read `fit` first: epochs of steps, checkpoints between them, and the callbacks. How the steps are
made is another module's matter.
"""

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from keras.callbacks import CallbackList

from trainer.training import TrainingError, checkpoints, phases
from trainer.training.distribution import Distribution
from trainer.training.input_pipeline import Input
from trainer.training.phases import Phase
from trainer.training.profiling import Profile
from trainer.training.settings import Settings
from trainer.training.speed import Meter
from trainer.training.step import StepSums
from trainer.training.stop import StoppedError, StopRequest
from trainer.training.training_state import TrainingState
from trellis_contracts.speed import Speed

# Checkpoints within an epoch, in addition to the one at its end.
CHECKPOINT_SECONDS = 60.0


@dataclass
class Progress:
    """Progress of a training.

    step: steps done in all. history: one row per epoch done (metrics.json). sums: of the train
    split's figures over the epoch under way; seconds: its duration so far. examples, steps:
    (replicas,) what each replica did in all. stopped_early: by EarlyStopping. speed: one row per
    epoch done (trellis_contracts.speed). spent: of the epoch under way the steps of this process
    that were measured, seconds of input, of computing and in all. computed: seconds of computing in
    all epochs, but for the first, which builds the steps; of the first if there is no other.
    """

    replicas: int
    step: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)
    seconds: float = 0.0
    examples: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    stopped_early: bool = False
    speed: list[dict[str, Any]] = field(default_factory=list)
    spent: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    computed: float = 0.0

    def __post_init__(self):
        self.examples = self.examples or [0] * self.replicas
        self.steps = self.steps or [0] * self.replicas

    def add(self, sums: StepSums, count: int, seconds: float) -> None:
        """Add the sums of a call of `count` steps."""
        self.step += count
        self.seconds += seconds
        before = self.sums or [0.0] * len(sums.figures)
        self.sums = [old + float(new) for old, new in zip(before, sums.figures, strict=True)]
        self.examples = [o + int(new) for o, new in zip(self.examples, sums.examples, strict=True)]
        self.steps = [old + int(new) for old, new in zip(self.steps, sums.steps, strict=True)]
        if sums.spent is not None:
            self.spent = [old + float(new) for old, new in zip(self.spent, sums.spent, strict=True)]

    def parts(self, processes: int) -> tuple[float, float] | None:
        """Seconds of the epoch's steps for input and for communication, by those that were
        measured; None: none was.
        """
        waited, computed, measured = self.spent
        if not measured:
            return None
        scale = self.seconds / measured
        between = max(0.0, measured - waited - computed) if processes > 1 else 0.0
        return waited * scale, between * scale

    def end_epoch(self, row: dict[str, float], speed: Speed) -> None:
        """End the current epoch with its rows of the history and of its speed."""
        self.history.append(row)
        self.speed.append(speed.to_document())
        if self.spent[2]:
            earlier = self.computed if len(self.history) > 2 else 0.0
            self.computed = earlier + self.spent[1] / self.spent[2] * self.seconds
        self.sums, self.seconds, self.spent = [], 0.0, [0.0, 0.0, 0.0]

    def finished(self, epochs: int) -> bool:
        """Return whether the training has ended."""
        return self.stopped_early or len(self.history) >= epochs

    to_dict = dataclasses.asdict

    def restore(self, values: dict) -> None:
        """Restore what `to_dict` returned."""
        for name, value in values.items():
            setattr(self, name, value)


class Steps(Protocol):
    """Interface of the steps of a training. per_call: the most steps of one call of `make`."""

    per_call: int

    def begin(self, phase: Phase) -> None:
        """Prepare the steps of a phase."""

    def make(self, done: int, count: int, stop: bool) -> StepSums:
        """Make `count` steps after those `done`. stop: whether this process was asked to stop."""

    def check(self, done: int) -> None:
        """Raise TrainingError if the processes do not hold the same weights after these steps."""

    def explain_nonfinite(self, number: int) -> str:
        """Return advice on a loss of this step (from 0) that is not finite; print its examples."""

    def evaluate(self) -> dict[str, float]:
        """Metrics of the validation split."""


def fit(
    settings: Settings,
    distribution: Distribution,
    state: TrainingState,
    data: Input,
    steps: Steps,
    callbacks: CallbackList,
    progress: Progress,
    meter: Meter,
    save: Callable[[], None],
    stop: StopRequest,
) -> None:
    """Train from `progress` to the end; the model then has the last epoch's weights.

    meter: begun before the steps, which read what is kept of the data. save: writes a checkpoint of
    everything given here. Raises TrainingError if the loss is no
    number any more or the processes hold different weights after the first call, StoppedError
    (after a checkpoint) if any process was asked to stop.
    """
    phase = None
    saved = time.monotonic()
    total = settings.epochs * data.steps_per_epoch
    profile = Profile(
        settings.profile, total, settings.places.logs, state.model, distribution.cluster.is_chief
    )
    while not progress.finished(settings.epochs):
        epoch = len(progress.history)
        if (current := phases.at(state.phases, epoch)) is not phase:
            phase = current
            steps.begin(phase)
        callbacks.on_epoch_begin(epoch)
        while left := (epoch + 1) * data.steps_per_epoch - progress.step:
            begun = time.monotonic()
            count = profile.most(progress.step, min(steps.per_call, left))
            profile.before(progress.step)
            with profile.step(progress.step):
                sums = steps.make(progress.step, count, stop.noted)
            # Some replicas may see it one step later than the others: rounded down.
            if (good := sums.finite // distribution.replicas) < count:
                distribution.barrier()
                hint = steps.explain_nonfinite(progress.step + good)
                raise _diverged(settings, progress.step + good + 1, epoch + 1, state, hint)
            progress.add(sums, count, time.monotonic() - begun)
            profile.after(progress.step)
            steps.check(progress.step)
            if sums.stop:
                save()
                distribution.barrier()
                raise StoppedError(f"asked to stop after step {progress.step} (epoch {epoch + 1})")
            if count < left and time.monotonic() - saved > CHECKPOINT_SECONDS:
                with meter.saving():
                    save()
                saved = time.monotonic()
        with state.in_use():
            row, speed = _evaluated(settings, distribution, state, data, steps, progress, meter)
            progress.end_epoch({"epoch": epoch + 1, **row}, speed)
            callbacks.on_epoch_end(epoch, row | speed.figures())
        progress.stopped_early = state.model.stop_training
        with meter.saving():
            save()
        saved = time.monotonic()
    profile.after(total)
    meter.close()


def _evaluated(
    settings: Settings,
    distribution: Distribution,
    state: TrainingState,
    data: Input,
    steps: Steps,
    progress: Progress,
    meter: Meter,
) -> tuple[dict[str, float], Speed]:
    """The epoch whose steps are done: its figures and its speed."""
    epoch, examples = len(progress.history) + 1, data.steps_per_epoch * data.global_batch
    begun = time.monotonic()
    validation = steps.evaluate()
    seconds = time.monotonic() - begun
    if not math.isfinite(validation["loss"]):
        distribution.barrier()
        hint = "look at the examples of the validation split"
        raise _diverged(settings, progress.step, epoch, state, hint)
    row = {
        **state.learning.means(progress.sums, examples),
        **{f"val_{name}": value for name, value in validation.items()},
        "learning_rate": float(state.optimizer.learning_rate.numpy()),
        "seconds": round(progress.seconds + seconds, 3),
    }
    parts = progress.parts(len(distribution.cluster))
    return row, meter.end_epoch(epoch, examples, progress.seconds, seconds, parts)


def _diverged(
    settings: Settings, step: int, epoch: int, state: TrainingState, hint: str
) -> TrainingError:
    h, last = settings.common, checkpoints.latest(settings.places.checkpoints)
    none = last == checkpoints.NONE
    kept = "there is no checkpoint" if none else f"the last good checkpoint is {last}"
    return TrainingError(
        f"the loss is not a number at step {step} (epoch {epoch}), learning rate "
        f"{float(state.optimizer.learning_rate.numpy()):.3g}: the training diverged. Lower "
        f"learning_rate ({h.learning_rate:g}) or raise warmup_epochs ({h.warmup_epochs:g}), or "
        f"{hint}; {kept}"
    )
