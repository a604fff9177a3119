"""The phases of a training: which weights are trained from which epoch on, and how fast.

Most trainings have one. A backbone with given weights has two: its output layer's large gradients
in the first epochs would destroy what the weights below it hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import keras

from trainer.models.backbone import NO_WEIGHTS
from trellis_contracts.hyperparameters import Common, Hyperparameters


@dataclass(frozen=True)
class Phase:
    """epoch: its first one, from 0. rate: what the learning rate is multiplied by."""

    epoch: int
    variables: Sequence[keras.Variable]
    rate: float = 1.0


def of(model: keras.Model, name: str, h: Common) -> list[Phase]:
    """The phases of training a model of trainer.models, or a group's own."""
    everything = Phase(0, model.trainable_variables)
    if name != "backbone" or not isinstance(h, Hyperparameters) or h.weights == NO_WEIGHTS:
        return [everything]
    networks = [layer for layer in model.layers if isinstance(layer, keras.Model)]
    below = {id(variable) for network in networks for variable in network.trainable_variables}
    if not below:
        return [everything]
    head = [v for v in model.trainable_variables if id(v) not in below]
    second = Phase(h.head_epochs, model.trainable_variables, h.fine_tuning_rate)
    return [Phase(0, head), second] if h.head_epochs else [second]


def at(phases: Sequence[Phase], epoch: int) -> Phase:
    """The phase that an epoch belongs to."""
    return [phase for phase in phases if phase.epoch <= epoch][-1]


def end(phases: Sequence[Phase], phase: Phase, epochs: int) -> int:
    """The first epoch after a phase, of a training of so many epochs."""
    return min([epochs, *(later.epoch for later in phases if later.epoch > phase.epoch)])
