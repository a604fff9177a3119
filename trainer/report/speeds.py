"""What limited the full trainings: the table of where their time went."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer import byte_size
from trainer.comparison.run_folder import Contender
from trellis_contracts.speed import Limit, Speed, examples_per_second, shares, steady
from trellis_contracts.training import Training


@dataclass(frozen=True)
class TrainingSpeed:
    """A training. examples: a second. shares: of its time by part, None where it was not measured.
    cpu: share of the machine's cores. memory: most that was used; devices: use and memory of each
    GPU, "" where it was not measured.
    """

    training: str
    examples: float
    shares: Mapping[str, float | None]
    limit: Limit | None
    cpu: float
    memory: str
    devices: str


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
        cpu=statistics.fmean(row.cpu for row in steady(rows)),
        memory=byte_size.text(max(row.memory for row in rows)),
        devices=_devices(steady(rows)),
    )


def _devices(rows: Sequence[Speed]) -> str:
    every = zip(*(row.devices or () for row in rows), strict=True)
    return "; ".join(
        f"{statistics.fmean(d.use for d in own):.0%}, {byte_size.text(max(d.memory for d in own))}"
        for own in every
    )
