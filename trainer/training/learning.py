"""What a step minimizes: the task's loss, or the losses of a model's own `train_step`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import keras
import tensorflow as tf

from trainer.training.objectives.objective import Objective, of_mixed
from trainer.training.own_step import OwnStep
from trainer.training.records import Inputs


class Part(NamedTuple):
    """A part of what is minimized: losses (b,) with their weights, and which variables' gradient it
    has; None: all.
    """

    losses: tf.Tensor
    variables: Sequence[keras.Variable] | None = None


class Learning(Protocol):
    """What a step minimizes, and the figures of the train split. figures: how many there are.
    several: whether `parts` returns more than one part. losses: names of a file's own.
    """

    figures: int
    several: bool
    losses: Sequence[str]

    def parts(
        self, inputs: Inputs, labels: Any, weights: tf.Tensor
    ) -> tuple[list[Part], Sequence[tf.Tensor]]:
        """The parts that are minimized together, of a batch of one replica, and the figures of each
        example, (b,) each. labels: (b,) or Mixed. weights: (b,).
        """

    def means(self, sums: Sequence[float], examples: float) -> dict[str, float]:
        """Figures by their names, from their sums over the given number of examples."""


class OfTask:
    """The objective of the task, of the outputs of one call of the model."""

    figures, several = 2, False
    losses: Sequence[str] = ()

    def __init__(self, model: keras.Model, objective: Objective):
        self._model, self._objective = model, objective

    def parts(
        self, inputs: Inputs, labels: Any, weights: tf.Tensor
    ) -> tuple[list[Part], Sequence[tf.Tensor]]:
        """See Learning. The figures are the objective's measures."""
        outputs = self._model(inputs, training=True)
        losses = of_mixed(partial(self._objective.weighted, weights=weights), labels, outputs)
        return [Part(losses)], of_mixed(self._objective.measures, labels, outputs)

    def means(self, sums: Sequence[float], examples: float) -> dict[str, float]:
        """See Learning."""
        return self._objective.means(sums, examples)


class OfFile:
    """The losses of a file's `train_step`, each a figure under its name."""

    losses: Sequence[str]

    def __init__(self, model: keras.Model, objective: Objective, step: OwnStep):
        self._objective, self.losses = objective, step.names
        self._losses = step.of(model)
        weights = model.trainable_variables
        moved = {name: [weights[i] for i in places] for name, places in step.moved.items()}
        self._moved: Mapping[str, list[keras.Variable]] = moved
        self.figures = len(step.names)
        self.several = len(moved) + (len(moved) < self.figures) > 1

    def parts(
        self, inputs: Inputs, labels: Any, weights: tf.Tensor
    ) -> tuple[list[Part], Sequence[tf.Tensor]]:
        """See Learning. Losses of all variables are one part."""
        found = self._losses(inputs, self._objective.targets(labels))
        counts = self._objective.counts(labels) * weights
        shared = [losses for name, losses in found.items() if name not in self._moved]
        parts = [Part(tf.add_n(shared) * counts)] if shared else []
        parts += [Part(found[name] * counts, moved) for name, moved in self._moved.items()]
        return parts, [found[name] for name in self.losses]

    def means(self, sums: Sequence[float], examples: float) -> dict[str, float]:
        """See Learning."""
        means = (total / examples for total in sums)
        return dict(zip(self.losses, means, strict=True))


def of(model: keras.Model, objective: Objective, step: OwnStep | None) -> Learning:
    """What a step of the model minimizes. step: of the model's file, if it has one."""
    return OfTask(model, objective) if step is None else OfFile(model, objective, step)
