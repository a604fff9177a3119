"""The search space: every coordinate becomes a legal value, evenly spread on the asked scale."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.vertex.tuning.space import (
    Categorical,
    Discrete,
    Double,
    Integer,
    Scale,
    flags,
    point,
    size,
)

positive = st.floats(1e-8, 1e8)
units = st.floats(0, 1)


@given(positive, positive, units, st.sampled_from(Scale))
def test_a_double_stays_in_bounds_and_comes_back(a, b, unit, scale):
    low, high = sorted((a, b))
    parameter = Double("x", low, high, scale)
    coordinate = min(max(low + unit * (high - low), low), high)

    value = parameter.decode(coordinate)

    assert low <= value <= high
    assert parameter.encode(value) == pytest.approx(coordinate, abs=1e-9 * high)
    assert low <= parameter.centre <= high


@given(st.integers(1, 1000), st.integers(0, 1000), st.integers(0, 1000), st.sampled_from(Scale))
def test_an_integer_stays_in_bounds_and_comes_back(low, width, offset, scale):
    parameter = Integer("x", low, low + width, scale)
    coordinate = low + min(offset, width)

    value = parameter.decode(coordinate)

    assert isinstance(value, int)
    assert low <= value <= low + width
    assert parameter.encode(value) == coordinate
    assert low <= parameter.centre <= low + width


def test_the_centre_is_the_middle_of_the_scale():
    assert Double("x", 1e-5, 1).centre == 0.500005  # the first trial in Vertex's documentation
    assert Double("x", 1e-4, 1e-2, Scale.LOG).centre == pytest.approx(1e-3)
    assert Double("x", 1, 100, Scale.REVERSE_LOG).centre == pytest.approx(91)
    assert Integer("x", 1, 100, Scale.LOG).centre == 10
    assert Discrete("x", (64.0, 128.0, 512.0)).centre == 128
    assert Categorical("x", ("adam", "sgd")).centre == "adam"


def test_reverse_log_spreads_the_values_at_the_top():
    """A logarithmic step of the coordinate moves a value near the top as little as log near 0."""
    parameter = Double("x", 1, 1000, Scale.REVERSE_LOG)
    assert [parameter.decode(c) for c in (1, 10, 100, 1000)] == [1000, 991, 901, 1]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_points_of_a_finite_space_are_all_there_once(sizes):
    makers = [
        lambda i, n: Integer(f"p{i}", 3, 2 + n),
        lambda i, n: Discrete(f"p{i}", tuple(float(v) for v in range(n))),
        lambda i, n: Categorical(f"p{i}", tuple("abcd"[:n])),
    ]
    parameters = tuple(makers[i % 3](i, n) for i, n in enumerate(sizes))

    points = [tuple(point(parameters, i).items()) for i in range(math.prod(sizes))]

    assert size(parameters) == len(points) == len(set(points))
    assert points == sorted(points)  # lexicographic: the last parameter varies fastest
    with pytest.raises(IndexError):
        point(parameters, len(points))


def test_a_double_makes_the_space_infinite():
    assert size((Categorical("a", ("x",)), Double("b", 0, 1))) == math.inf
    assert size((Double("b", 1, 1),)) == 1


def test_flags_are_what_argparse_programs_of_googles_samples_read():
    values = {"units": 128, "width": 512.0, "rate": 0.001, "tiny": 1e-05, "bias": -0.5, "o": "adam"}
    assert flags(values) == [
        "--units=128",
        "--width=512",
        "--rate=0.001",
        "--tiny=1e-05",
        "--bias=-0.5",
        "--o=adam",
    ]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_flags_lose_nothing(value):
    (flag,) = flags({"x": value})
    assert float(flag.removeprefix("--x=")) == value
