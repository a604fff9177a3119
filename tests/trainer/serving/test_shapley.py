import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.serving import shapley

GAMES = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.floats(-10, 10), min_size=2**n, max_size=2**n)
)
PATHS = st.integers(2, 10).map(lambda half: 2 * half)


def game(worth):
    """A score for every set of features, given by the set's number."""
    features = int(math.log2(len(worth)))
    return features, lambda own: np.array(worth)[own @ (1 << np.arange(features))]


def exact(worth):
    """By the definition: the mean over all orders."""
    features, score = game(worth)
    found = []
    for order in itertools.permutations(range(features)):
        own, moves = np.zeros(features, bool), np.empty(features)
        for feature in order:
            before = score(own[np.newaxis])[0]
            own[feature] = True
            moves[feature] = score(own[np.newaxis])[0] - before
        found.append(moves)
    return np.mean(found, axis=0)


@given(GAMES, PATHS)
def test_the_shares_add_up_to_what_the_score_moved(worth, paths):
    features, score = game(worth)
    found = shapley.shares(score, features, paths)
    assert (found.baseline_score, found.score) == (worth[0], worth[-1])
    assert found.values.sum() == pytest.approx(worth[-1] - worth[0], abs=1e-9)


@given(GAMES, PATHS)
def test_as_many_scores_are_asked_for_as_is_reported(worth, paths):
    features, score = game(worth)
    asked = []
    shapley.shares(lambda own: asked.append(len(own)) or score(own), features, paths)
    assert asked == [shapley.evaluations(features, paths)]


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.floats(-9, 9), min_size=n, max_size=n)))
def test_features_that_act_in_pairs_are_told_exactly(weights):
    """The score is a sum over features and over pairs of them."""
    own_weight = np.array(weights)
    of_pairs = np.triu(np.outer(own_weight, own_weight[::-1]), 1)

    def score(own):
        return own @ own_weight + np.einsum("mi,ij,mj->m", own, of_pairs, own)

    found = shapley.shares(score, len(weights), 4)
    halves = (of_pairs.sum(axis=0) + of_pairs.sum(axis=1)) / 2
    assert found.values == pytest.approx(own_weight + halves, abs=1e-9)
    assert found.error == pytest.approx(0, abs=1e-9)


def test_the_estimate_is_within_its_error():
    worth = np.random.default_rng(3).normal(size=2**6)
    features, score = game(worth)
    found = shapley.shares(score, features, 50)
    off = np.abs(found.values - exact(worth)).max()
    assert 0 < off < 3 * found.error
    assert shapley.shares(score, features, 2000).error < found.error / 4


def test_a_feature_that_changes_nothing_has_no_share():
    found = shapley.shares(lambda own: np.prod(own[:, :3] + 1.5, axis=1), 4, 10)
    assert found.values[3] == 0
    assert found.values[:3] == pytest.approx(np.full(3, (2.5**3 - 1.5**3) / 3), rel=0.3)


def test_equal_questions_have_equal_answers():
    features, score = game(np.random.default_rng(1).normal(size=2**5))
    first, second = (shapley.shares(score, features, 6) for _ in range(2))
    assert first.values.tolist() == second.values.tolist()
