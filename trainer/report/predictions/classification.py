"""The part of the page on predicted classes."""

from trainer.metrics.outcome import Outcome, of_kind
from trainer.report.mistakes import mistake_section
from trainer.report.predictions import Part, Predicted
from trainer.report.predictions.of_classes import part_with


def part(at: Predicted) -> Part:
    """See the package."""
    outcomes = of_kind(at.outcomes, Outcome)
    errors = mistake_section(outcomes, at.ranked, at.split, at.run.dataset.features)
    return part_with(at, outcomes, of_kind(at.uncalibrated, Outcome), "mistakes", errors)
