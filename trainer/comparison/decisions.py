"""What a threshold, and what handing examples back, does on the test split."""

import dataclasses

import numpy as np

from trainer.comparison.intervals import LEVEL
from trainer.comparison.proportions import share_interval, weighted_interval
from trainer.comparison.scoreboard import DECIMALS, Scoreboard, estimate, measured
from trainer.metrics.binary import POSITIVE
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome
from trainer.postprocessing import certainty
from trellis_contracts.decision import Cost, Rule
from trellis_contracts.leaderboard import AbstentionFacts, CostFacts, DecisionFacts, Estimate
from trellis_contracts.postprocessing import Abstention

OF_DECISIONS = ("sensitivity", "specificity", "ppv", "npv", "accuracy")

_HALF = 0.5


def facts(rule: Rule, outcome: Outcome, scores: Scoreboard) -> DecisionFacts:
    """What the leaderboard has of the threshold of a training, which has one."""
    assert outcome.threshold is not None
    above = outcome.threshold.above
    at_half = dataclasses.replace(outcome, threshold=None)
    metrics = [scores.metrics[name] for name in OF_DECISIONS]
    cost = None if rule.cost is None else _cost(rule.cost, outcome, at_half)
    figures = measured(at_half, metrics, scores.decimals)
    return DecisionFacts(rule=rule, above=above, at_half=figures, cost=cost)


def abstention(abstained: Abstention, outcome: Outcome, cost: Cost | None) -> AbstentionFacts:
    """What the leaderboard has of the examples that a training hands back. cost: by which its
    threshold was chosen.
    """
    answered = certainty(outcome.probabilities, outcome.threshold) >= abstained.below
    spent = None
    if cost is not None and answered.any():
        missed, alarms = (one[answered] for one in errors(outcome))
        groups = outcome.groups.subset(answered) if outcome.groups else None
        spent = _summed(cost, missed, alarms, groups)
    return AbstentionFacts(
        share=abstained.share,
        answered=share(answered, outcome.groups),
        risk=share(outcome.misses, outcome.groups, answered),
        risk_of_all=share(outcome.misses, outcome.groups),
        cost=spent,
    )


def share(hits: np.ndarray, groups: Groups | None, among: np.ndarray | None = None) -> Estimate:
    """Share of True among (n,) examples, or among some of them: (n,) bool."""
    if among is not None:
        hits, groups = hits[among], groups.subset(among) if groups else None
    if not len(hits):
        return Estimate(0.0, (0.0, 1.0))
    return estimate(float(hits.mean()), share_interval(hits, LEVEL, groups), DECIMALS)


def errors(outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
    """(n,) bool: the missed examples, and the false alarms."""
    positive, taken = outcome.labels == POSITIVE, outcome.predicted == POSITIVE
    return positive & ~taken, ~positive & taken


def _summed(
    cost: Cost, missed: np.ndarray, alarms: np.ndarray, groups: Groups | None, sign: int = 1
) -> Estimate:
    """Cost of an example. sign: of what is missed."""
    weighted = [(missed, sign * cost.missed), (alarms, cost.false_alarm)]
    value = sum(weight * float(hits.mean()) for hits, weight in weighted)
    return estimate(value, weighted_interval(weighted, LEVEL, groups), DECIMALS)


def _cost(cost: Cost, outcome: Outcome, at_half: Outcome) -> CostFacts:
    groups, positive = outcome.groups, outcome.labels == POSITIVE

    def summed(missed: np.ndarray, alarms: np.ndarray, sign: int = 1) -> Estimate:
        return _summed(cost, missed, alarms, groups, sign)

    (missed, alarms), (missed_before, alarms_before) = errors(outcome), errors(at_half)
    # Of a lower threshold fewer are missed and more are false alarms, of a higher one the reverse.
    change = summed(missed_before & ~missed, alarms & ~alarms_before, -1)
    above = outcome.threshold.above if outcome.threshold else _HALF
    if above >= _HALF:
        reverse = summed(missed & ~missed_before, alarms_before & ~alarms, -1)
        change = Estimate(0.0 - reverse.value, (0.0 - reverse.high, 0.0 - reverse.low))
    if above == _HALF:
        change = Estimate(0.0, (0.0, 0.0))
    return CostFacts(
        missed=cost.missed,
        false_alarm=cost.false_alarm,
        model=summed(missed, alarms),
        at_half=summed(missed_before, alarms_before),
        change=change,
        all=round(cost.false_alarm * float((~positive).mean()), DECIMALS),
        none=round(cost.missed * float(positive.mean()), DECIMALS),
    )
