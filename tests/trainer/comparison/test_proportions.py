"""Closed-form intervals of shares: where few errors make the bootstrap fail, these hold."""

import numpy as np
import pytest

from trainer.comparison import bootstrap
from trainer.comparison.proportions import difference_interval, share_interval


def test_a_perfect_score_is_not_certain():
    low, high = share_interval(np.ones(180, bool), 0.95)
    assert low == pytest.approx(0.025 ** (1 / 180))  # the share that gives 180 of 180 2.5% of times
    assert high == 1


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
