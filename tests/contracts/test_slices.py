"""Slices: what an experiment file may name, and which slice a value is in."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis_contracts.slices import MOST_VALUES, SliceBy, SliceColumn, frozen_column


@pytest.mark.parametrize(
    "value", ["site", {"age": [45, 60.5]}, ["sex", "site"], ["sex", {"age": [60]}]]
)
def test_an_entry_is_as_it_was_written(value):
    assert SliceBy.parse(value).to_document() == value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "got ''"),
        (5, "got 5"),
        (None, "got None"),
        ({}, "got {}"),
        ({"a": [1], "b": [2]}, "got {"),
        ({"age": 45}, "45 as edges of 'age'"),
        ({"age": []}, "0 edges of 'age'"),
        ({"age": [True]}, "as edges of 'age'"),
        ({"age": [float("nan")]}, "as edges of 'age'"),
        ({"age": ["45"]}, "as edges of 'age'"),
        ({"age": [60, 45]}, "edges of 'age' do not rise"),
        ({"age": [45, 45]}, "edges of 'age' do not rise"),
        ({"age": list(range(MOST_VALUES))}, f"{MOST_VALUES} edges of 'age'"),
        ({5: [1]}, "got 5 as a column"),
        (["sex"], "got 1 in brackets"),
        (["sex", "site", "age"], "got 3 in brackets"),
        (["sex", ["site", "age"]], "got ["),
    ],
)
def test_anything_else_is_refused_with_the_reason(value, why):
    with pytest.raises(ValueError, match=re.escape(why)):
        SliceBy.parse(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("north", "north"),
        ("", "''"),
        (True, "true"),
        (3, "3"),
        (3.0, "3"),
        (2.5, "2.5"),
        (Decimal("1.50"), "1.50"),
        (date(2024, 1, 31), "2024-01-31"),
        (datetime(2024, 1, 31, tzinfo=UTC), "2024-01-31"),
        (datetime(2024, 1, 31, 8, 30), "2024-01-31 08:30:00"),
        (None, "missing"),
        (float("nan"), "missing"),
    ],
)
def test_a_value_is_written_as_a_person_would(value, text):
    assert SliceBy.parse("c").name((value,)) == f"c = {text}"


def test_a_pair_names_both():
    assert SliceBy.parse(["sex", {"age": [60]}]).name(("f", 60)) == "sex = f and age = 60 and above"


numbers = st.floats(-1e6, 1e6)


@given(st.lists(numbers, min_size=1, max_size=9, unique=True), numbers, numbers)
def test_two_numbers_share_a_bin_unless_an_edge_is_between_them(edges, one, other):
    column = SliceColumn("age", tuple(sorted(edges)))
    low, high = sorted([one, other])
    apart = any(low < edge <= high for edge in edges)
    # Names have twelve digits: bins of closer edges would look alike.
    if min((b - a for a in edges for b in edges if b > a), default=1) > 1e-3:
        assert (column.part(low) != column.part(high)) == apart


TABLE = {
    "label": {"name": "ill", "type": "BOOL"},
    "kept": [{"name": "Site", "column": "Site"}, {"name": "stage", "column": "stage_2"}],
    "features": [
        {"name": "mean radius", "column": "mean_radius"},
        {"name": "stage", "column": "stage"},
    ],
}


@pytest.mark.parametrize(
    ("name", "column"),
    [("site", "Site"), ("Mean Radius", "mean_radius"), ("ILL", "label"), ("stage", "stage_2")],
)
def test_a_column_of_the_source_has_one_among_the_frozen_rows(name, column):
    assert frozen_column(TABLE, name) == column


def test_a_column_that_was_not_frozen_has_none():
    with pytest.raises(KeyError):
        frozen_column(TABLE, "ward")
