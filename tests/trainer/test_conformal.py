"""Conformal prediction: its coverage over many draws, for any model, and what it does exactly."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trainer import conformal, postprocessing

DRAWS = 3000


def within_binomial(found, draws, share):
    """Four standard errors: one of 16,000 right implementations is outside."""
    return abs(found - share) < 4 * math.sqrt(share * (1 - share) / draws)


def exact(examples, coverage):
    """The coverage of n independent examples without ties."""
    return math.ceil((examples + 1) * coverage) / (examples + 1)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("examples", [20, 57])
def test_intervals_cover_a_new_number_as_often_as_is_said(coverage, examples):
    """The model is wrong by far, and its errors are skewed: neither matters."""
    random = np.random.default_rng(examples)
    covered = 0
    for _ in range(DRAWS):
        x = random.normal(size=examples + 1)
        y = x**2 + random.exponential(1 + np.abs(x))
        made = conformal.of_numbers(coverage, y[:-1], 0.5 * x[:-1], None)
        low, high = postprocessing.interval(made, 0.5 * x[-1:])[0]
        covered += low <= y[-1] <= high
    assert within_binomial(covered / DRAWS, DRAWS, exact(examples, coverage))


@pytest.mark.parametrize("coverage", [0.7, 0.9])
@pytest.mark.parametrize("confidence", [0.3, 1.0, 4.0])
def test_sets_cover_a_new_class_as_often_as_is_said(coverage, confidence):
    """However wrong the probabilities are."""
    random = np.random.default_rng(1)
    examples, covered, in_set = 40, 0, 0
    for _ in range(DRAWS):
        logits = random.normal(size=(examples + 1, 4)) * 1.5
        truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        labels = (truth.cumsum(axis=1) > random.random((examples + 1, 1))).argmax(axis=1)
        given = np.exp(confidence * logits)
        given = (given / given.sum(axis=1, keepdims=True)).astype(np.float32)
        made = conformal.of_classes(coverage, labels[:-1], given[:-1], None)
        covered += given[-1, labels[-1]] >= made.above
        in_set += postprocessing.members(made, given[-1:])[0, labels[-1]]
    assert within_binomial(covered / DRAWS, DRAWS, exact(examples, coverage))
    # A set has the most probable class, too, even if it is below.
    assert in_set >= covered


def grouped(random, groups):
    """Errors of images of patients: a patient's own share of them, and more images of the worst."""
    own = np.abs(random.normal(size=groups))
    sizes = 1 + random.poisson(8 * own)
    of = np.repeat(np.arange(groups), sizes)
    return own[of] + 0.2 * random.random(len(of)), of


@pytest.mark.parametrize("groups", [15, 40])
def test_a_new_group_is_covered_as_often_as_is_said(groups):
    random, coverage = np.random.default_rng(groups), 0.9
    covered = 0.0
    for _ in range(DRAWS):
        scores, of = grouped(random, groups)
        new, _ = grouped(random, 1)
        covered += (new <= conformal.quantile(scores, coverage, of)).mean()
    # At least that, and at most by the weight of a group more.
    margin = 4 * math.sqrt(coverage * (1 - coverage) / DRAWS)
    assert coverage - margin < covered / DRAWS < coverage + 1 / (groups + 1) + margin


def test_examples_of_groups_are_not_taken_as_independent():
    """The quantile of all examples covers too few new groups, if groups have many alike ones."""
    random, coverage = np.random.default_rng(3), 0.85
    naive = ours = 0
    for _ in range(DRAWS):
        own = random.normal(size=10)
        scores, of = np.abs(np.repeat(own, 50)), np.repeat(np.arange(10), 50)
        new = abs(random.normal())
        naive += new <= conformal.quantile(scores, coverage, None)
        ours += new <= conformal.quantile(scores, coverage, of)
    assert naive / DRAWS < coverage - 0.02
    assert within_binomial(ours / DRAWS, DRAWS, exact(10, coverage))


SCORES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(SCORES, st.floats(0.5, 0.99))
def test_the_quantile_is_the_score_of_a_rank(scores, coverage):
    rank = math.ceil((len(scores) + 1) * coverage - 1e-7)
    if rank > len(scores):
        with pytest.raises(ValueError, match="too few for a coverage of"):
            conformal.quantile(np.array(scores), coverage, None)
    else:
        expected = sorted(scores)[rank - 1]
        assert conformal.quantile(np.array(scores), coverage, None) == expected
        alone = np.array([f"patient {i}" for i in range(len(scores))])
        assert conformal.quantile(np.array(scores), coverage, alone) == expected


@given(SCORES, st.integers(1, 5))
def test_a_group_counts_once_however_many_examples_repeat_it(scores, times):
    of = np.arange(len(scores))
    once = np.array(scores)
    try:
        expected = conformal.quantile(once, 0.8, of)
    except ValueError:
        return
    assert conformal.quantile(np.tile(once, times), 0.8, np.tile(of, times)) == expected


def test_what_the_sets_of_one_split_cover_varies_as_theory_says():
    """Given a validation split, the coverage of what follows is a beta variable."""
    random, examples, coverage = np.random.default_rng(2), 99, 0.9
    reached = [
        stats.expon.cdf(conformal.quantile(random.exponential(size=examples), coverage, None))
        for _ in range(2000)
    ]
    rank = round(exact(examples, coverage) * (examples + 1))
    assert stats.kstest(reached, stats.beta(rank, examples + 1 - rank).cdf).pvalue > 1e-4
