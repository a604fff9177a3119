"""The part of the page on predicted risks and curves of survival."""

from trainer.metrics.outcome import of_kind
from trainer.metrics.survival import SurvivalOutcome
from trainer.report.predictions import Part, Predicted
from trainer.report.survival import survival_section


def part(at: Predicted) -> Part:
    """See the package."""
    outcomes = of_kind(at.outcomes, SurvivalOutcome)
    return Part(
        {"survival": survival_section(outcomes, at.ranked, at.run.dataset)},
        ["survival"],
        [("survival", "Survival")],
        "The weights of the censoring are not drawn anew; concordance and AUC are resampled as "
        "sums of pairs, to first order.",
        "an order at random, or Kaplan and Meier\u2019s curve for every example",
    )
