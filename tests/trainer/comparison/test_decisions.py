"""What a threshold, handing examples back, and sets do on a test split, counted by hand."""

import numpy as np
import pytest

from trainer.comparison import coverage, decisions
from trainer.comparison.scoreboard import Scoreboard, metric_named
from trainer.metrics.decision import Threshold
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome
from trainer.metrics.regression import ValueOutcome
from trellis_contracts.decision import Cost, Rule
from trellis_contracts.postprocessing import Abstention, Conformal
from trellis_contracts.tasks import CLASSIFICATION

CLASSES = ("well", "ill")


def outcome(above=None, groups=None):
    """One in five is ill; the probabilities say it roughly."""
    random = np.random.default_rng(0)
    labels = (np.arange(500) % 5 == 0).astype(int)
    ill = np.clip(0.25 * labels + random.beta(2, 5, 500), 0, 1).astype(np.float32)
    threshold = None if above is None else Threshold(above)
    return Outcome(labels, np.stack([1 - ill, ill], axis=1), groups, threshold)


def facts(of, rule):
    auc = metric_named("auc", CLASSIFICATION, CLASSES)
    return decisions.facts(rule, of, Scoreboard({"one": of}, auc, classes=CLASSES))


@pytest.mark.parametrize("above", [0.2, 0.7])
def test_costs_are_those_of_the_errors(above):
    one, half = outcome(above), outcome()

    def spent(of):
        missed = (of.labels == 1) & (of.predicted == 0)
        return (10 * missed.sum() + (of.misses & ~missed).sum()) / 500

    found = facts(one, Rule(cost=Cost(10, 1)))
    assert found.cost.model.value == pytest.approx(spent(one))
    assert found.cost.at_half.value == pytest.approx(spent(half))
    assert found.cost.change.value == pytest.approx(spent(one) - spent(half))
    assert found.cost.change.low < found.cost.change.value < found.cost.change.high
    assert (found.cost.all, found.cost.none) == pytest.approx((0.8, 2.0))
    assert found.at_half["sensitivity"].value == pytest.approx(
        ((half.predicted == 1) & (half.labels == 1)).sum() / 100
    )


def test_a_threshold_of_a_half_changes_nothing():
    found = facts(outcome(0.5), Rule(cost=Cost(1, 1)))
    assert found.cost.change.interval == (0, 0)
    assert found.cost.model == found.cost.at_half


def test_a_rule_without_costs_has_none():
    assert facts(outcome(0.2), Rule(sensitivity=0.9)).cost is None


def test_what_is_handed_back_is_counted():
    one = outcome(0.3)
    found = decisions.abstention(Abstention(0.1, 0.05), one, Cost(10, 1))
    answered = np.abs(one.probabilities[:, 1] - np.float32(0.3)) >= 0.05
    assert found.answered.value == pytest.approx(answered.mean(), abs=1e-6)
    assert found.risk.value == pytest.approx(one.misses[answered].mean(), abs=1e-6)
    assert found.risk_of_all.value == pytest.approx(one.misses.mean(), abs=1e-6)
    assert found.risk.value < found.risk_of_all.value
    missed = (one.labels == 1) & (one.predicted == 0)
    spent = np.where(missed, 10, one.misses)[answered].mean()
    assert found.cost.value == pytest.approx(spent, abs=1e-6)
    assert decisions.abstention(Abstention(0.1, 0.05), one, None).cost is None


def test_a_risk_of_nothing_is_unknown():
    found = decisions.abstention(Abstention(0.1, 1.0), outcome(0.3), Cost(10, 1))
    assert found.answered.value == 0
    assert found.risk.interval == (0, 1)
    assert found.cost is None


def test_the_coverage_of_sets_is_counted_by_class():
    one = outcome()
    found = coverage.facts(Conformal(coverage=0.9, examples=50, above=0.4), one, CLASSES)
    ill = one.probabilities[:, 1]
    in_set = np.stack([(1 - ill >= 0.4) | (ill < 0.5), (ill >= 0.4) | (ill > 0.5)], axis=1)
    hits = in_set[np.arange(500), one.labels]
    assert found.reached.value == pytest.approx(hits.mean(), abs=1e-6)
    assert found.size == pytest.approx(in_set.sum(axis=1).mean())
    assert found.of_class["ill"].value == pytest.approx(hits[one.labels == 1].mean(), abs=1e-6)


def test_a_class_of_few_examples_has_no_coverage_of_its_own():
    labels = np.array([0] * 50 + [1] * 9)
    one = Outcome(labels, np.tile([0.6, 0.4], (59, 1)))
    found = coverage.facts(Conformal(coverage=0.9, examples=50, above=0.3), one, CLASSES)
    assert list(found.of_class) == ["well"]


def test_the_coverage_of_intervals_is_counted():
    labels = np.arange(100.0)
    values = labels + np.where(np.arange(100) < 80, 1.0, 3.0)
    made = Conformal(coverage=0.9, examples=50, margin=2.0)
    found = coverage.facts(made, ValueOutcome(labels, values), ())
    assert (found.reached.value, found.size, found.of_class) == (0.8, 4.0, {})


def test_each_group_counts_as_much_as_another():
    """Nine patients with one image that is covered, one with 91 that are not."""
    labels, of = np.zeros(100), np.array([*range(9), *[9] * 91])
    values = np.where(of == 9, 5.0, 0.0)
    made = Conformal(coverage=0.9, examples=50, groups=10, margin=1.0)
    found = coverage.facts(made, ValueOutcome(labels, values, Groups.named(of)), ())
    assert found.reached.value == pytest.approx(0.9)
