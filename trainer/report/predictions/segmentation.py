"""The part of the page on predicted masks."""

from trainer.metrics.outcome import of_kind
from trainer.metrics.segmentation import MaskOutcome
from trainer.report.predictions import Part, Predicted
from trainer.report.segmentation import segmentation_section


def part(at: Predicted) -> Part:
    """See the package."""
    outcomes = of_kind(at.outcomes, MaskOutcome)
    winner = next(c.uri for c in at.run.contenders if c.name == at.ranked[0].name)
    how = at.ranked, at.split, at.run.dataset.features, winner
    return Part(
        {"segmentation": segmentation_section(outcomes, *how)},
        ["segmentation"],
        [("masks", "Masks")],
    )
