"""What the parts on predicted classes share."""

from collections.abc import Mapping

from trainer.metrics.outcome import Outcome
from trainer.metrics.set_outcome import SetOutcome
from trainer.report.discrimination import roc_section
from trainer.report.precision_recall import precision_recall_section
from trainer.report.predictions import Part, Predicted
from trainer.report.reliability import reliability_section

_Probabilities = Mapping[str, Outcome] | Mapping[str, SetOutcome]


def part_with(
    at: Predicted, outcomes: _Probabilities, uncalibrated: _Probabilities, name: str, errors: object
) -> Part:
    """The part with the curves of probabilities, and a section on errors of this name."""
    how = at.ranked, at.split.classes
    return Part(
        {
            "roc": roc_section(outcomes, *how),
            "precision_recall": precision_recall_section(outcomes, *how),
            "reliability": reliability_section(outcomes, *how, uncalibrated),
            name: errors,
        },
        ["curves", name],
        [("curves", "Curves"), ("mistakes", "Errors")],
    )
