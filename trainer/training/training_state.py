"""The state of a training: a model with its objective, what it minimizes, optimizer and phases."""

import contextlib
from dataclasses import dataclass

import keras

from trainer.training.averages import Averages
from trainer.training.learning import Learning
from trainer.training.objectives.objective import Objective
from trainer.training.phases import Phase


@dataclass(frozen=True)
class TrainingState:
    """The model, its optimizer and objective. learning: what its steps minimize.

    peak_rate: learning rate after the warm-up, over all replicas. phases: in their order. averages:
    None if none are kept.
    """

    model: keras.Model
    objective: Objective
    learning: Learning
    optimizer: keras.optimizers.Optimizer
    peak_rate: float
    phases: list[Phase]
    averages: Averages | None = None

    def in_use(self) -> contextlib.AbstractContextManager[None]:
        """A context in which the model has the weights that are evaluated and exported."""
        return self.averages.in_place() if self.averages else contextlib.nullcontext()
