"""Whether a threshold by costs, or of a sensitivity, is a good one, and whether the intervals of
its effect hold, where the truth is known.

The score of an example is normal, of mean 0 or, of a positive one, 1.6, so that the expected cost
of every threshold is a formula, and so is the least one. The probabilities rise with the score, but
are not right ones. Of groups, a part of each score is the group's. A threshold is chosen on a
validation split; its effect is told of a test split of the same size.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import optimize, special, stats

from trainer.comparison import decisions
from trainer.comparison.scoreboard import Scoreboard, metric_named
from trainer.metrics import decision
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome
from trellis_contracts.dataset import CLASSIFICATION
from trellis_contracts.decision import Cost, Rule
from trellis_contracts.postprocessing import Abstention

SETS, POSITIVE, APART = 300, 0.3, 1.6
CLASSES = ("well", "ill")
AUC = metric_named("auc", CLASSIFICATION, CLASSES)


@pytest.fixture(autouse=True)
def no_metrics(monkeypatch):
    """Costs take no metric, whose intervals take most of the time."""
    monkeypatch.setattr(decisions, "measured", lambda *_: {})


@dataclass(frozen=True)
class Population:
    """examples: of each split. groups: of each split; None: the examples are independent. shared:
    variance of the score between groups; within them it is 1.
    """

    examples: int
    groups: int | None = None
    shared: float = 0.0

    def draw(self, random):
        """A split's Outcome."""
        labels = (random.random(self.examples) < POSITIVE).astype(int)
        scores = APART * labels + random.normal(size=self.examples)
        groups = None
        if self.groups:
            of = np.arange(self.examples) % self.groups
            scores += np.sqrt(self.shared) * random.normal(size=self.groups)[of]
            groups = Groups.named(of)
        ill = special.expit(0.7 * scores - 0.2).astype(np.float32)
        return Outcome(labels, np.stack([1 - ill, ill], axis=1), groups)

    def rates(self, above):
        """Expected shares of the examples that are missed, and that are false alarms, at a
        threshold of the probability.
        """
        score = (special.logit(np.float64(above)) + 0.2) / 0.7
        spread = np.sqrt(1 + self.shared)
        missed = POSITIVE * stats.norm.cdf((score - APART) / spread)
        return missed, (1 - POSITIVE) * stats.norm.sf(score / spread)

    def spent(self, cost, above):
        """Expected cost of an example at a threshold."""
        return np.dot((cost.missed, cost.false_alarm), self.rates(above))

    def least(self, cost):
        """The least expected cost of any threshold."""
        return optimize.minimize_scalar(
            lambda above: self.spent(cost, above), bounds=(1e-6, 1 - 1e-6), method="bounded"
        ).fun


POPULATIONS = {
    "150 examples": Population(150),
    "600 examples": Population(600),
    "600 examples of 100 groups": Population(600, 100, 1.0),
}


def simulated(population, rule, seed):
    """The threshold found in each of SETS data sets, and what the leaderboard has of it."""
    random = np.random.default_rng(seed)
    board = None
    for _ in range(SETS):
        validation, test = population.draw(random), population.draw(random)
        found = decision.choose(rule, validation.labels, validation.probabilities)
        outcome = Outcome(test.labels, test.probabilities, test.groups, found)
        board = board or Scoreboard({"one": outcome}, AUC, classes=CLASSES)
        yield found, outcome, decisions.facts(rule, outcome, board)


def share_of(hits):
    return 100 * float(np.mean(hits))


@pytest.mark.slow
@pytest.mark.parametrize(
    "cost", [Cost(10, 1), Cost(3, 1), Cost(1, 2)], ids=lambda c: f"{c.missed:g}"
)
@pytest.mark.parametrize("name", POPULATIONS)
def test_the_threshold_found_costs_little_more_than_the_best_one(name, cost, capsys):
    population = POPULATIONS[name]
    least, half = population.least(cost), population.spent(cost, 0.5)
    true, covered, changes = [], [], []
    for found, _, facts in simulated(population, Rule(cost=cost), seed=int(cost.missed)):
        spent = population.spent(cost, found.above)
        true.append(spent)
        covered.append(facts.cost.model.low <= spent <= facts.cost.model.high)
        changes.append(facts.cost.change.low <= spent - half <= facts.cost.change.high)
    with capsys.disabled():
        print(
            f"| {name} | {cost.missed:g} : {cost.false_alarm:g} | {least:.3f} | {half:.3f} | "
            f"{np.mean(true):.3f} | {np.quantile(true, 0.95):.3f} | {share_of(covered):.0f} | "
            f"{share_of(changes):.0f} |"
        )
    assert min(true) >= least - 1e-6
    assert np.mean(true) - least < 0.1 * least
    # Two standard errors of 300 below 95 %.
    assert min(np.mean(covered), np.mean(changes)) >= 0.925


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_the_sensitivity_that_was_asked_for_is_reached_but_for_chance(name, capsys):
    population = POPULATIONS[name]
    true, covered = [], []
    for found, outcome, _ in simulated(population, Rule(sensitivity=0.95), seed=1):
        missed, _ = population.rates(found.above)
        true.append(1 - missed / POSITIVE)
        ill = outcome.labels == 1
        told = decisions.share(outcome.predicted == 1, outcome.groups, among=ill)
        covered.append(told.low <= true[-1] <= told.high)
    with capsys.disabled():
        low, high = np.quantile(true, [0.05, 0.95])
        print(
            f"| {name} | {np.mean(true):.3f} | {low:.3f} to {high:.3f} | {share_of(covered):.0f} |"
        )
    assert np.mean(true) == pytest.approx(0.95, abs=0.015)
    assert np.mean(covered) >= 0.925


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_what_is_handed_back_and_the_risk_of_the_rest_are_covered(name, capsys):
    """An example within 0.1 of the threshold is handed back."""
    population = POPULATIONS[name]
    shares, risks = [], []
    for found, outcome, _ in simulated(population, Rule(cost=Cost(3, 1)), seed=2):
        below, above = (float(np.clip(found.above + d, 1e-6, 1 - 1e-6)) for d in (-0.1, 0.1))
        low, high = population.rates(below), population.rates(above)
        answered = 1 - (high[0] + low[1] - high[1] - low[0])
        wrong = (low[0] + high[1]) / answered
        told = decisions.abstention(Abstention(0.1, 0.1), outcome, None)
        shares.append(told.answered.low <= answered <= told.answered.high)
        risks.append(told.risk.low <= wrong <= told.risk.high)
    with capsys.disabled():
        print(f"| {name} | {share_of(shares):.0f} | {share_of(risks):.0f} |")
    assert min(np.mean(shares), np.mean(risks)) >= 0.925
