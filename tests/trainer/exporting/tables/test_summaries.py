"""Statistics are exact, and those of merged parts are those of the whole."""

import math
import random
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.exporting.number_statistics import Numbers
from trainer.exporting.tables import summaries
from trainer.exporting.tables.summaries import Lengths, RangeSummary, Terms, Tree

values = st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), max_size=50)
terms = st.lists(st.sampled_from(["a", "b", "é", ""]) | st.none(), max_size=50)


def test_statistics_of_known_numbers():
    statistics = Numbers.of(np.array([4.0, math.nan, 1.0, 3.0, 2.0], np.float32)).statistics()
    assert (statistics.count, statistics.missing) == (4, 1)
    assert (statistics.mean, statistics.stddev) == (2.5, math.sqrt(1.25))
    assert (statistics.min, statistics.max) == (1.0, 4.0)
    assert statistics.quantiles == (*[1.0] * 6, *[2.0] * 5, *[3.0] * 5, *[4.0] * 5)


def test_a_constant_has_no_deviation_though_sums_round():
    numbers = Numbers.of(np.full(1000, 0.1)).merge(Numbers.of(np.full(77, 0.1)))
    statistics = numbers.statistics()
    assert (statistics.mean, statistics.stddev) == (0.1, 0.0)


@given(st.lists(values, min_size=1, max_size=5))
def test_numbers_of_parts_are_numpys_of_all(parts):
    merged = Numbers()
    for part in parts:
        merged = merged.merge(Numbers.of(np.array(part)))
    whole = np.concatenate(parts)
    there = whole[~np.isnan(whole)]
    assert (merged.count, merged.missing) == (len(there), len(whole) - len(there))
    if len(there):
        statistics = merged.statistics()
        assert statistics.mean == pytest.approx(there.mean(), rel=1e-9, abs=1e-6)
        assert statistics.stddev == pytest.approx(there.std(), rel=1e-9, abs=1e-3)
        assert (statistics.min, statistics.max) == (there.min(), there.max())


@given(st.lists(terms, min_size=1, max_size=5))
def test_terms_of_parts_are_those_of_all(parts):
    merged = Terms()
    for part in parts:
        merged = merged.merge(Terms.of(pa.array(part, pa.large_string())))
    whole = [term for part in parts for term in part]
    assert merged.counts == {t: whole.count(t) for t in whole if t is not None}
    assert (merged.rows, merged.missing) == (len(whole), whole.count(None))


def test_the_most_frequent_terms_come_first_and_equals_by_name():
    counted = Terms.of(pa.array(["b", "c", "a", "c", "d"], pa.large_string()))
    assert counted.most_frequent(3) == [("c", 2), ("a", 1), ("b", 1)]


@given(st.lists(st.lists(st.integers(0, 40), max_size=60), min_size=1, max_size=6))
def test_a_forgotten_term_was_rarer_than_stated(parts):
    with mock.patch.object(summaries, "MAX_TERMS", 8):
        merged = Terms()
        for part in parts:
            merged = merged.merge(Terms.of(pa.array([f"{t:02}" for t in part], pa.large_string())))
    whole = [f"{t:02}" for part in parts for t in part]
    assert len(merged.counts) <= 8
    for term in set(whole):
        assert 0 <= whole.count(term) - merged.counts.get(term, 0) <= merged.forgotten


def test_lengths_count_empty_sequences():
    lists = pa.array([[1.0, 2.0], [], [math.nan]], pa.large_list(pa.float32()))
    statistics = Lengths.of(lists).merge(Lengths.of(lists.slice(0, 1))).statistics()
    assert (statistics.count, statistics.missing) == (4, 1)
    assert (statistics.min_length, statistics.max_length) == (0, 2)
    assert (statistics.mean, statistics.mean_length) == (1.5, 1.25)


@given(st.integers(0, 5), st.randoms(use_true_random=False))
def test_a_tree_gives_the_same_last_digit_in_any_order(level, shuffler):
    numbers = np.random.default_rng(0).normal(size=(2**level, 7))
    leaves = [RangeSummary({"numeric/0": Numbers.of(part)}) for part in numbers]

    def grow(order, workers):
        trees = [Tree() for _ in range(workers)]
        for place in order:
            random.Random(place).choice(trees).add(leaves[place], 0, place)
        found = Tree().merge(trees).whole.train["numeric/0"]
        return found.count, found.mean, found.squares, found.quantiles.values.tolist()

    order = list(range(2**level))
    expected = grow(order, 1)
    shuffler.shuffle(order)
    assert grow(order, 3) == expected
