"""A TensorFlow profile of some steps and the model's graph, for TensorBoard's tabs Profile and
Graphs.
"""

import contextlib
from pathlib import Path

import keras
import tensorflow as tf

from trainer.training import TrainingError


class Profile:
    """Profiles the steps from `first` to `last`, both counted from 1; None: no steps.

    Of a resumed training those steps that are left. writes: whether this process is the one that
    writes; the others make the same calls.
    """

    def __init__(
        self,
        steps: tuple[int, int] | None,
        total: int,
        logs: Path,
        model: keras.Model,
        writes: bool,
    ):
        if steps and steps[1] > total:
            raise TrainingError(
                f"--profile {steps[0]}-{steps[1]}: the training has {total} steps; choose a range "
                "of them"
            )
        self._begin, self._end = (steps[0] - 1, steps[1]) if steps else (total, total)
        self._logs, self._model, self._writes = logs, model, writes
        self._running = False

    def most(self, done: int, count: int) -> int:
        """Return how many of the next `count` steps can be made in one call: of those that are
        profiled one, so that each has its mark.
        """
        if self._begin <= done < self._end:
            return 1
        bounds = [bound - done for bound in (self._begin, self._end) if bound > done]
        return min([count, *bounds])

    def before(self, done: int) -> None:
        """Begin the profile if the steps after those `done` belong to it."""
        if self._writes and not self._running and self._begin <= done < self._end:
            tf.profiler.experimental.start(str(self._logs))
            self._running = True

    def step(self, done: int) -> contextlib.AbstractContextManager[object]:
        """Mark the step after those `done` in the profile, as TensorFlow's guide of the profiler
        says: the trace has a block for each step, by which the tab's overview tells their times.
        """
        if not self._running:
            return contextlib.nullcontext()
        return tf.profiler.experimental.Trace("train", step_num=done + 1, _r=1)

    def after(self, done: int) -> None:
        """Write the profile when its last step is done."""
        if self._running and done >= self._end:
            tf.profiler.experimental.stop()
            self._running = False
            _write_graph(self._model, self._logs / "train")
            print(f"profile of steps {self._begin + 1} to {self._end} in {self._logs}", flush=True)


def _write_graph(model: keras.Model, folder: Path) -> None:
    """Write the graph of the model's answers, beside the curves of its training."""
    of_batch = keras.tree.map_structure(
        lambda each: tf.TensorSpec(each.shape, each.dtype, each.name), model.input
    )
    answers = tf.function(lambda batch: model(batch, training=False), autograph=False)
    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default():
        tf.summary.graph(answers.get_concrete_function(of_batch).graph)
    writer.close()
