"""The part of the page on predicted numbers."""

from trainer.metrics.outcome import of_kind
from trainer.metrics.regression import ValueOutcome
from trainer.report.predictions import Part, Predicted
from trainer.report.residuals import residual_section


def part(at: Predicted) -> Part:
    """See the package."""
    outcomes = of_kind(at.outcomes, ValueOutcome)
    residuals = residual_section(outcomes, at.ranked, at.split, at.run.dataset.features)
    return Part(
        {"residuals": residuals},
        ["residuals"],
        [("predictions", "Predictions")],
    )
