"""performance.json: how good batch predictions were, by labels that arrived after them.
trainer.performance writes it, the DAG EXPERIMENT-predict records it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trellis_contracts.files import File, Part
from trellis_contracts.leaderboard import Estimate


@dataclass(frozen=True)
class Performance(Part):
    """The scores of one run of predictions. examples: with a label. groups: of them, where groups
    decide the dataset's split, else None. primary: name of the metric that the page shows. metrics:
    those that are defined, by name.
    """

    examples: int
    groups: int | None
    primary: str
    metrics: Mapping[str, Estimate]


@dataclass(frozen=True)
class PerformanceFile(File):
    """runs: by the name of the run of predictions."""

    CONTRACT: ClassVar[str] = "performance"

    runs: Mapping[str, Performance]
