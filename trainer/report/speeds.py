"""What limited the full trainings: the table of where their time went."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer.comparison.run_folder import Contender
from trellis_contracts.speed import Limit, examples_per_second, shares, usage
from trellis_contracts.training import Training


@dataclass(frozen=True)
class TrainingSpeed:
    """A training. examples: a second. shares: of its time by part, None where it was not measured.
    used: CPU, memory and the like, as text.
    """

    training: str
    examples: float
    shares: Mapping[str, float | None]
    limit: Limit | None
    used: Mapping[str, str]


def training_speeds(contenders: Sequence[Contender]) -> list[TrainingSpeed]:
    """A line for each training whose epochs were measured."""
    return [_speed(c.name, c.training) for c in contenders if c.training and c.training.speed]


def _speed(name: str, training: Training) -> TrainingSpeed:
    rows = training.speed
    return TrainingSpeed(
        training=name,
        examples=examples_per_second(rows),
        shares=shares(rows),
        limit=training.limit,
        used=usage(rows),
    )
