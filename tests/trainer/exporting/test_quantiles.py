"""Quantiles of few numbers are exact; those of many stay within the stated bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.exporting.quantiles import POINTS, Quantiles

PERCENTS = np.arange(0, 101, 5)

numbers = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=100)


@given(st.lists(numbers, min_size=1, max_size=5))
def test_few_numbers_give_exact_quantiles(parts):
    merged = Quantiles.of(np.empty(0))
    for part in parts:
        merged = merged.merge(Quantiles.of(np.sort(part)))
    rising = sorted(number for part in parts for number in part)
    for percent, value in zip(PERCENTS.tolist(), merged.at(PERCENTS).tolist(), strict=True):
        enough = [v for i, v in enumerate(rising, 1) if 100 * i >= percent * len(rising)]
        assert value == enough[0]


@pytest.mark.parametrize("distribution", ["normal", "lognormal", "integers", "sorted"])
def test_many_numbers_stay_within_the_bound(distribution):
    random = np.random.default_rng(5)
    values = {
        "normal": random.normal(size=400_000),
        "lognormal": random.lognormal(sigma=3, size=400_000),
        "integers": random.integers(0, 30, 400_000),
        "sorted": np.arange(400_000.0),
    }[distribution]
    # Parts of very different sizes; 16 of them are merged in pairs: four merges after each other.
    edges = np.sort(random.integers(0, len(values), 15))
    level = [Quantiles.of(np.sort(part)) for part in np.split(values, edges)]
    while len(level) > 1:
        level = [a.merge(b) for a, b in zip(level[::2], level[1::2], strict=True)]
    (summary,) = level
    assert summary.count == len(values)
    assert len(summary.values) == POINTS
    rising = np.sort(values)
    bound = (4 + 1) / (2 * POINTS) + 1 / POINTS  # a share between two points is the upper's
    for percent, value in zip(PERCENTS[1:-1], summary.at(PERCENTS[1:-1]), strict=True):
        share = percent / 100
        below = np.searchsorted(rising, value, side="left") / len(values)
        up_to = np.searchsorted(rising, value, side="right") / len(values)
        assert below - bound <= share <= up_to + bound
