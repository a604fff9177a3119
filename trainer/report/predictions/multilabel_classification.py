"""The part of the page on predicted sets of classes."""

from trainer.metrics.outcome import of_kind
from trainer.metrics.set_outcome import SetOutcome
from trainer.report.predictions import Part, Predicted
from trainer.report.predictions.of_classes import part_with
from trainer.report.sets import set_section


def part(at: Predicted) -> Part:
    """See the package."""
    outcomes = of_kind(at.outcomes, SetOutcome)
    errors = set_section(outcomes, at.ranked, at.split, at.run.dataset.features)
    return part_with(at, outcomes, of_kind(at.uncalibrated, SetOutcome), "sets", errors)
