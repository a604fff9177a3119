"""Numbers that tell a label together, from correlations alone."""

import itertools

import numpy as np
import pytest

from trellis.workflow.stages.linear_checks import sufficient


def together(label, *numbers):
    """Return the numbers in the form of checks.sql."""
    matrix = np.corrcoef([label, *numbers])
    pairs = itertools.combinations(range(1, len(matrix)), 2)
    return {
        "examples": len(label),
        "with_label": matrix[0, 1:].tolist(),
        "among_numbers": [matrix[pair] for pair in pairs],
    }


@pytest.fixture
def random():
    return np.random.default_rng(0)


def test_the_few_that_suffice_are_named(random):
    """A change is no news to what has both values, though it correlates with other things more."""
    noise = random.normal(size=(4, 500))
    before = random.normal(100, 30, size=500)
    change = random.normal(size=500)
    hint = change + random.normal(scale=0.3, size=500)
    found, correlation = sufficient(
        together(change, hint, *noise, before, before + change, 2 * before + 1), [], 0.999
    )
    assert (found, round(correlation, 9)) == ([5, 6], 1)


def test_the_correlation_is_that_of_the_best_linear_sum(random):
    numbers = random.normal(size=(3, 400)) + random.normal(size=400)
    label = numbers.sum(axis=0) + random.normal(scale=0.5, size=400)
    found, correlation = sufficient(together(label, *numbers), [], 0.95)
    columns = np.column_stack([*numbers, np.ones(400)])
    residuals = label - columns @ np.linalg.lstsq(columns, label, rcond=None)[0]
    unexplained = (residuals @ residuals / 396) / label.var(ddof=1)
    assert found == [0, 1, 2]
    assert correlation == pytest.approx(np.sqrt(1 - unexplained), abs=1e-12)
    assert sufficient(together(label, *numbers), [], correlation + 1e-6) == ([], 0.0)


def test_numbers_that_are_known_to_tell_it_are_left_out(random):
    low, high = random.normal(size=(2, 300))
    everything = together(low + high, low, 3 * (low + high), high)
    assert sufficient(everything, [], 0.999)[0] == [1]
    assert sufficient(everything, [1], 0.999)[0] == [0, 2]


def test_chance_and_constants_tell_nothing(random):
    label, *noise = random.normal(size=(41, 45))
    assert sufficient(together(label, *noise), [], 0.999) == ([], 0.0)
    constant = {"examples": 300, "with_label": [float("nan"), 0.5], "among_numbers": [0.0]}
    assert sufficient(constant, [], 0.999) == ([], 0.0)
