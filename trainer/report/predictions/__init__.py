"""The part of the page on what the contenders predicted: a module for each family of tasks, of its
name.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer.comparison.held_out_split import HeldOutSplit
from trainer.comparison.run_folder import Run
from trainer.metrics.outcome import AnyOutcome
from trainer.report.contenders import ContenderStyle


@dataclass(frozen=True)
class Predicted:
    """What the contenders predicted. outcomes: by name; uncalibrated: before calibration."""

    outcomes: Mapping[str, AnyOutcome]
    uncalibrated: Mapping[str, AnyOutcome]
    ranked: Sequence[ContenderStyle]
    split: HeldOutSplit
    run: Run


@dataclass(frozen=True)
class Part:
    """The part of a family. sections: by the name that its templates know. templates: in order.
    links: anchor and title of each. intervals: what the page's end says of them beside their
    methods. chance: what predicts by chance.
    """

    sections: Mapping[str, object]
    templates: Sequence[str]
    links: Sequence[tuple[str, str]]
    intervals: str | None = None
    chance: str = (
        "always the most frequent class, an order at random, the classes\u2019 shares as "
        "probabilities, or the best constant value"
    )


def part(predicted: Predicted) -> Part:
    """The part of a run's family."""
    module = importlib.import_module(f"trainer.report.predictions.{predicted.split.family}")
    found: Part = module.part(predicted)
    return found
