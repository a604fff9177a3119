"""A TensorFlow profile of some steps, for TensorBoard's tab Profile."""

from pathlib import Path

import tensorflow as tf

from trainer.training import TrainingError


class Profile:
    """Profiles the steps from `first` to `last`, both counted from 1; None: no steps.

    Of a resumed training those steps that are left. writes: whether this process is the one that
    writes; the others make the same calls.
    """

    def __init__(self, steps: tuple[int, int] | None, total: int, logs: Path, writes: bool):
        if steps and steps[1] > total:
            raise TrainingError(
                f"--profile {steps[0]}-{steps[1]}: the training has {total} steps; choose a range "
                "of them"
            )
        self._begin, self._end = (steps[0] - 1, steps[1]) if steps else (total, total)
        self._logs, self._writes = logs, writes
        self._running = False

    def most(self, done: int, count: int) -> int:
        """Return how many of the next `count` steps can be made in one call."""
        bounds = [bound - done for bound in (self._begin, self._end) if bound > done]
        return min([count, *bounds])

    def before(self, done: int) -> None:
        """Begin the profile if the steps after those `done` belong to it."""
        if self._writes and not self._running and self._begin <= done < self._end:
            tf.profiler.experimental.start(str(self._logs))
            self._running = True

    def after(self, done: int) -> None:
        """Write the profile when its last step is done."""
        if self._running and done >= self._end:
            tf.profiler.experimental.stop()
            self._running = False
            print(f"profile of steps {self._begin + 1} to {self._end} in {self._logs}", flush=True)
