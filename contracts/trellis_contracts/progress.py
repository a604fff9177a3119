"""progress.json: how far a trial or training has come. trainer.task writes it while it trains; the
pages read it until metrics.json, the result, is there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from trellis_contracts.files import File, Part


@dataclass(frozen=True)
class Point(Part):
    """The metric after an epoch, from 1."""

    epoch: int
    value: float


def by_epoch(history: Sequence[Mapping[str, float]], column: str) -> tuple[tuple[int, float], ...]:
    """(epoch, value) of a column of metrics.json's history, where it is there and finite."""
    known = [(int(row["epoch"]), row.get(column, math.nan)) for row in history]
    return tuple((epoch, value) for epoch, value in known if math.isfinite(value))


@dataclass(frozen=True)
class Progress(File):
    """metric: by which the best epoch is chosen, on the validation split. epochs: that it takes
    unless it stops earlier. at: when the last point was measured, ISO 8601. seconds: of the last
    epoch.
    """

    CONTRACT: ClassVar[str] = "progress"

    metric: str
    epochs: int
    at: str
    seconds: float
    points: tuple[Point, ...]
