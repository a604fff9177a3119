"""Whether the sets and intervals of a training hold on the test split, which has not made them."""

import numpy as np

from trainer import postprocessing
from trainer.comparison.decisions import share
from trainer.comparison.intervals import LEVEL
from trainer.comparison.proportions import mean_of_groups
from trainer.comparison.scoreboard import DECIMALS, estimate
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import AnyOutcome, Outcome
from trainer.metrics.regression import ValueOutcome
from trellis_contracts.leaderboard import ConformalFacts, Estimate
from trellis_contracts.postprocessing import Conformal

FEW = 10
"""Test examples of a class below which its coverage is not shown."""


def facts(conformal: Conformal, outcome: AnyOutcome, classes: tuple[str, ...]) -> ConformalFacts:
    """What the leaderboard has of the sets or intervals of a training."""
    of_class: dict[str, Estimate] = {}
    if isinstance(outcome, Outcome):
        sets = postprocessing.members(conformal, outcome.probabilities)
        hits = sets[np.arange(len(outcome.labels)), outcome.labels]
        size = float(sets.sum(axis=1).mean())
        of_class = {
            classes[c]: share(hits, outcome.groups, outcome.labels == c)
            for c in np.flatnonzero(np.bincount(outcome.labels) >= FEW)
        }
    else:
        assert isinstance(outcome, ValueOutcome)
        ends = postprocessing.interval(conformal, outcome.values)
        hits = (ends[:, 0] <= outcome.labels) & (outcome.labels <= ends[:, 1])
        size = float((ends[:, 1] - ends[:, 0]).mean())
    return ConformalFacts(
        coverage=conformal.coverage,
        examples=conformal.examples,
        groups=conformal.groups,
        reached=_reached(hits, outcome.groups),
        of_class=of_class,
        size=float(f"{size:.{DECIMALS}g}"),
    )


def _reached(hits: np.ndarray, groups: Groups | None) -> Estimate:
    """The share that is covered: where there are groups, of the examples of a random one."""
    if groups is None:
        return share(hits, None)
    return estimate(*mean_of_groups(hits, LEVEL, groups), DECIMALS)
