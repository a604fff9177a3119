"""metrics.json: the result of a trial or a full training. trainer.task writes it last, so a
training that has one is complete; the choice of trials, the comparison and the pages read it.
trainer/training/results.py explains how the figures come about.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trellis_contracts.decision import NamedThreshold
from trellis_contracts.files import File, Part, optional
from trellis_contracts.hyperparameter_field import Value
from trellis_contracts.speed import Limit, Speed, limit


@dataclass(frozen=True)
class Replica(Part):
    """One process of a training: its steps, and the examples of all its devices. weights_sha256: at
    the best epoch; last_weights_sha256: at the end. computed: seconds until it had its gradients.
    """

    steps: int
    examples: int
    weights_sha256: str
    last_weights_sha256: str
    computed: float | None = optional()


@dataclass(frozen=True)
class TrainedOn(Part):
    """The dataset: its folder and its fingerprint."""

    uri: str
    fingerprint: str


@dataclass(frozen=True, kw_only=True)
class Training(File):
    """model: its name. model_sha256: of a group's own file. metric: by which the best epoch is
    chosen. hyperparameters: all that the model reads. start: file of the weights that it began
    with; None: new ones. strategy: how it was distributed. best_epoch: from 1. history: the figures
    of each epoch; those of the validation split begin with val_.
    warnings: of the first epoch. threshold: what the SavedModel decides by; None: by the most
    probable class. validation: figures of the best epoch; test: of the SavedModel, None of a trial.
    replicas: by task, such as worker:0; speed: of each epoch; weights_sha256; parameters: trainable
    numbers; these are of networks alone.
    """

    CONTRACT: ClassVar[str] = "metrics"

    model: str
    model_sha256: str | None = optional()
    task: str
    metric: str
    hyperparameters: Mapping[str, Value]
    seed: int
    start: str | None = optional()
    strategy: str
    epochs_run: int
    best_epoch: int
    history: tuple[Mapping[str, float], ...]
    warnings: tuple[str, ...] = optional(())
    threshold: NamedThreshold | None = optional()
    validation: Mapping[str, float]
    test: Mapping[str, float] | None
    replicas: Mapping[str, Replica] | None = optional()
    speed: tuple[Speed, ...] = optional(())
    weights_sha256: str | None = optional()
    parameters: int | None = optional()
    dataset: TrainedOn

    @property
    def best(self) -> float:
        """The metric on the validation split at the best epoch."""
        return self.validation[self.metric]

    @property
    def limit(self) -> Limit | None:
        """What limited its pace; None if that was not measured."""
        computed = {name: process.computed for name, process in (self.replicas or {}).items()}
        return limit(self.speed, computed) if self.speed else None

    @property
    def seconds(self) -> float:
        """Duration of all epochs together."""
        return sum(epoch["seconds"] for epoch in self.history)
