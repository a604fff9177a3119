"""Closed-form intervals of shares: where few errors make the bootstrap fail, these hold."""

import numpy as np
import pytest
from scipy import stats

from trainer.comparison import bootstrap
from trainer.comparison.proportions import (
    difference_interval,
    mean_of_groups,
    share_interval,
    weighted_interval,
)
from trainer.metrics.groups import Groups


def test_a_perfect_score_is_not_certain():
    low, high = share_interval(np.ones(180, bool), 0.95)
    assert low == pytest.approx(0.025 ** (1 / 180))  # the share that gives 180 of 180 2.5% of times
    assert high == 1


@pytest.mark.parametrize("found", [0, 1, 57, 179, 180])
def test_it_is_scipys_exact_interval(found):
    expected = stats.binomtest(found, 180).proportion_ci(0.95, method="exact")
    assert share_interval(np.arange(180) < found, 0.95) == pytest.approx((*expected,), abs=1e-9)


def test_the_interval_covers_at_least_95_percent_even_with_three_errors_expected():
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        low, high = share_interval(random.random(180) < 0.983, 0.95)
        covered += low <= 0.983 <= high
    assert covered >= 0.95 * 400


def test_two_that_never_disagree_may_still_differ():
    hits = np.arange(180) % 10 > 0
    low, high = difference_interval(hits, hits, 0.95)
    assert low == pytest.approx(-high)
    assert 0.014 < high < 0.016


def test_the_difference_turns_its_sign_with_its_sides():
    hits, others = np.arange(100) < 90, np.arange(100) > 25
    low, high = difference_interval(hits, others, 0.95)
    assert (-high, -low) == pytest.approx(difference_interval(others, hits, 0.95))
    assert low > 0


def test_a_handful_of_discordant_examples_decides_nothing():
    """Five examples that only one gets right, none the other way: McNemar's exact p is 0.06."""
    hits = np.ones(180, bool)
    others = np.arange(180) >= 5
    low, high = difference_interval(hits, others, 0.95)
    assert low < 0 < high
    low, _ = difference_interval(hits, np.arange(180) >= 7, 0.95)  # seven: p is 0.016
    assert low > 0


def test_with_many_errors_it_agrees_with_the_bootstrap():
    random = np.random.default_rng(2)
    hits, others = random.random(1000) < 0.7, random.random(1000) < 0.6
    weights = np.concatenate(list(bootstrap.draw(1000, 1000)), axis=1)
    resampled = (hits.astype(float) - others) @ weights / 1000
    assert difference_interval(hits, others, 0.95) == pytest.approx(
        bootstrap.interval(resampled, 0.95), abs=0.005
    )


@pytest.mark.parametrize(("missed", "alarms"), [(0.01, 0.2), (0.05, 0.05), (0.002, 0.4)])
@pytest.mark.parametrize("costs", [(10, 1), (-10, 1)])
def test_the_interval_of_a_cost_covers_it(missed, alarms, costs):
    """Costs of rare errors that exclude one another, or of an error that another one replaces."""
    random = np.random.default_rng(5)
    true = costs[0] * missed + costs[1] * alarms
    covered = 0
    for _ in range(400):
        drawn = random.random(150)
        first, second = drawn < missed, drawn > 1 - alarms
        low, high = weighted_interval([(first, costs[0]), (second, costs[1])], 0.95)
        covered += low <= true <= high
    assert covered >= 0.95 * 400


@pytest.mark.parametrize("groups", [15, 60])
@pytest.mark.parametrize("share", [0.7, 0.9])
def test_the_mean_of_groups_is_covered(groups, share):
    """Patients with a share of their own, and the more images the lower it is."""
    random = np.random.default_rng(groups)
    own = random.beta(8 * share, 8 * (1 - share), (400, groups))
    covered = 0
    for shares in own:
        of = np.repeat(np.arange(groups), 1 + random.poisson(12 * (1 - shares)))
        hits = random.random(len(of)) < shares[of]
        value, (low, high) = mean_of_groups(hits, 0.95, Groups.named(of))
        assert low <= value <= high
        covered += low <= share <= high
    assert covered >= 0.93 * 400


def test_of_equal_groups_the_mean_is_the_share():
    of = np.repeat(np.arange(30), 4)
    hits = np.random.default_rng(0).random(120) < 0.8
    value, _ = mean_of_groups(hits, 0.95, Groups.named(of))
    assert value == pytest.approx(hits.mean())
