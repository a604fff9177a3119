"""baseline.json: what a service was asked to train as a baseline, and what came of it. The task
`baselines` writes it for each baseline of the run, successful or not; the comparison reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from trellis_contracts.files import File, Part, optional


@dataclass(frozen=True)
class FeatureWeight(Part):
    """How much a feature counts. what: the meaning of the weight."""

    feature: str
    weight: float
    what: str


@dataclass(frozen=True)
class Baseline(File):
    """name: of its folder. kind: bqml, automl or file. status: succeeded or failed. reason: why it
    failed. model: the service's name of the model. options: what the service was asked to train,
    in its own words. features_left_out: that the service cannot take. cost_usd: at most.
    evaluation: the service's own metrics. None where unknown. warnings: why it may be worse than it
    could be.
    """

    CONTRACT: ClassVar[str] = "baseline"

    name: str
    kind: str
    status: str = "failed"
    reason: str | None = None
    model: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    features_left_out: tuple[str, ...] = ()
    seconds: float | None = None
    cost_usd: float | None = None
    feature_importance: tuple[FeatureWeight, ...] = ()
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = optional(())
