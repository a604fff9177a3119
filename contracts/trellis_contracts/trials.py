"""trials.json: the trials of a search, and those that are trained in full. The task `choose` writes
it for each model that has a search; the comparison and later runs read it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trellis_contracts.files import File, Part
from trellis_contracts.hyperparameter_field import Value


@dataclass(frozen=True)
class Measurement(Part):
    """The tuner's final measurement. loss: on the validation split, which decides between equal
    values; None if the trial was stopped before it could write its metrics.json.
    """

    step: int
    value: float
    loss: float | None


@dataclass(frozen=True)
class Trial(Part):
    """state: Vertex AI's Trial.State. final: None if the tuner took no measurement. start, end:
    ISO 8601.
    """

    id: str
    state: str
    parameters: Mapping[str, Value]
    final: Measurement | None
    start: str | None
    end: str | None


@dataclass(frozen=True)
class Chosen(Part):
    """A trial that is trained in full. rank: from 1. trial: its id. value: of the metric."""

    rank: int
    trial: str
    parameters: Mapping[str, Value]
    value: float


@dataclass(frozen=True)
class Trials(File):
    """job: resource name of the tuning job. goal: maximize or minimize. chosen: the best first."""

    CONTRACT: ClassVar[str] = "trials"

    job: str
    metric: str
    goal: str
    trials: tuple[Trial, ...]
    chosen: tuple[Chosen, ...]
