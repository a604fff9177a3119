"""Ticks are round, inside the axis, and as many as fit."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trainer.report.ticks import linear, logarithmic


@pytest.mark.parametrize(
    ("low", "high", "count", "ticks"),
    [
        (0.831, 1.004, 5, [0.85, 0.9, 0.95, 1.0]),
        (0, 10, 5, [0, 2, 4, 6, 8, 10]),
        (0, 10, 4, [0, 2.5, 5, 7.5, 10]),
        # Of the multiples of 5 only 0 is inside: the next smaller step.
        (-3, 3, 2, [-2.5, 0, 2.5]),
        (-0.4, 0.3, 3, [-0.25, 0, 0.25]),
        (1e6, 1e6 + 7, 3, [1e6, 1e6 + 2.5, 1e6 + 5]),
    ],
)
def test_ticks_are_multiples_of_a_round_step(low, high, count, ticks):
    assert [float(tick) for tick in linear(low, high, count)] == ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0.9, 30.2, [5, 10, 15, 20, 25, 30]), (1, 4, [1, 2, 3, 4]), (0.4, 1.6, [1]), (1.2, 1.8, [])],
)
def test_ticks_of_whole_numbers(low, high, ticks):
    assert linear(low, high, 8, integer=True) == ticks


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12), st.integers(2, 12))
def test_there_are_always_at_least_two_and_never_many_more_than_asked_for(low, span, count):
    high = low + span
    assume(high > low)
    ticks = linear(low, high, count)
    assert low <= min(ticks) < max(ticks) <= high
    assert 2 <= len(ticks) <= max(count + 1, 6)


def test_powers_of_ten_and_what_lies_between_them_where_they_are_few():
    assert logarithmic(0.0008, 0.2, 5) == [0.001, 0.01, 0.1]
    assert logarithmic(0.02, 4, 5) == [0.03, 0.1, 0.3, 1, 3]
    assert logarithmic(2, 9, 5) == [2, 5]
    assert logarithmic(0.021, 0.035, 4) == [0.025, 0.03, 0.035]
    assert logarithmic(1e-9, 1e9, 3) == [1e-9, 1e-5, 0.1, 1000, 1e7]
