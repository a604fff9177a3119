"""Data values to pixels, with round ticks inside."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trainer.report.scales import Categories, Scale, scale_for, text

numbers = st.floats(-1e9, 1e9, allow_nan=False)


@given(st.lists(numbers, min_size=1, max_size=20))
@example([1.0, 5e-324])
def test_every_value_and_every_tick_lies_within_the_pixels(values):
    scale = Scale.around(values, 300, 10)
    for value in values:
        assert 10 <= scale(value) <= 300
    for tick in scale.ticks():
        assert 10 <= tick.at <= 300


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_the_same_on_a_logarithmic_scale(values):
    scale = Scale.around(values, 0, 100, logarithmic=True)
    for place in [*map(scale, values), *(tick.at for tick in scale.ticks())]:
        assert 0 <= place <= 100


def test_a_wide_positive_range_is_logarithmic():
    assert Scale.around([0.0001, 0.1], 0, 100).logarithmic
    assert not Scale.around([0.0, 0.1], 0, 100).logarithmic
    assert not Scale.around([0.9, 0.99], 0, 100).logarithmic


def test_ticks_are_round_and_share_their_decimals():
    def texts(scale, **options):
        return [tick.text for tick in scale.ticks(**options)]

    assert texts(Scale(0.831, 1.004, 0, 100)) == ["0.85", "0.90", "0.95", "1.00"]
    assert texts(Scale(1, 4, 0, 100), count=8, integer=True) == ["1", "2", "3", "4"]
    assert texts(Scale(0.0008, 0.2, 0, 100, logarithmic=True)) == ["0.001", "0.01", "0.1"]
    minus = "\N{MINUS SIGN}"
    assert texts(Scale(-0.1, 0.1, 0, 100), count=2) == [f"{minus}0.1", "0.0", "0.1"]


def test_a_single_value_has_room_around_it():
    scale = Scale.around([0.5], 0, 100)
    assert scale(0.5) == 50


def test_names_and_a_few_whole_numbers_are_categories():
    assert isinstance(scale_for(["adam", "sgd", "adam"], 0, 100), Categories)
    assert isinstance(scale_for([32.0, 64.0, 128.0], 0, 100), Categories)
    assert isinstance(scale_for([True, False], 0, 100), Categories)
    assert isinstance(scale_for([0.1, 0.25], 0, 100), Scale)
    assert isinstance(scale_for(list(range(20)), 0, 100), Scale)


def test_categories_are_in_order_and_evenly_spread():
    categories = scale_for([128.0, 32.0, 64.0], 0, 90)
    assert [(t.at, t.text) for t in categories.ticks()] == [(15, "32"), (45, "64"), (75, "128")]


def test_the_experiment_decides_whether_a_scale_is_logarithmic():
    assert scale_for([0.001, 0.5], 0, 100).logarithmic
    assert not scale_for([0.001, 0.5], 0, 100, logarithmic=False).logarithmic


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2.0, "2"), (0.00312345, "0.003123"), (True, "true"), ("adam", "adam"), (4096, "4,096")],
)
def test_a_hyperparameter_is_shown_as_a_reader_writes_it(value, shown):
    assert text(value) == shown
