"""Values of any type become 16 bits by a rule, without losing what they tell apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from trainer.images import ImageError, Scale
from trainer.images.scale import Ends
from trainer.images.tiff import Samples

TYPES = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.float32, np.float64]


def scaled(values, text):
    values = np.asarray(values)
    samples = Samples(values.dtype.kind, values.dtype.itemsize * 8, 1)
    return Scale.parse(text).apply(values, samples.ends)


def test_the_levels_of_a_camera_of_12_bits_stay_apart():
    camera = np.arange(200, 3900, dtype=np.uint16)
    for rule in ("full", "range:200,3900", "percentiles:0,100"):
        pixels, lost = scaled(camera, rule)
        assert len(np.unique(pixels)) == len(camera)
        assert (np.diff(pixels.astype(int)) > 0).all()
        assert lost == ()


@given(
    values=arrays.arrays(np.uint16, st.integers(1, 30)),
    ends=st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6)).filter(
        lambda pair: pair[0] < pair[1]
    ),
    kind=st.sampled_from(TYPES),
)
def test_a_range_is_a_straight_line_between_its_ends(values, ends, kind):
    low, high = ends
    values = values.astype(kind)
    pixels, lost = scaled(values, f"range:{low},{high}")
    inside = np.clip(values.astype(np.float64), low, high)
    expected = (inside - low) * 65535 / (high - low)
    assert np.abs(pixels - expected).max() <= 0.5 + 1e-6
    assert ("clipped" in lost) == bool((values != inside).any())
    finer = values.dtype.kind == "f" or high - low > 65535
    assert ("rounded" in lost) == finer


@given(arrays.arrays(np.uint16, st.integers(1, 30)))
def test_full_changes_no_value_of_16_bits_and_repeats_those_of_8(values):
    assert np.array_equal(scaled(values, "full")[0], values)
    shallow = values.astype(np.uint8)
    assert np.array_equal(scaled(shallow, "full")[0], shallow.astype(np.uint16) * 257)


def test_percentiles_are_those_of_each_image():
    values = np.arange(101, dtype=np.float64) * 7 - 300
    pixels, _ = scaled(values, "percentiles:10,90")
    assert (pixels[:11] == 0).all()
    assert (pixels[90:] == 65535).all()
    assert pixels[50] == pytest.approx(65535 / 2, abs=1)


@pytest.mark.parametrize("kind", TYPES[4:])
def test_types_whose_full_range_says_nothing_are_refused(kind):
    with pytest.raises(ImageError, match=r"give source\.scale a range or percentiles"):
        scaled(np.zeros(3, kind), "full")


def test_a_window_is_the_range_that_the_file_itself_has():
    values = np.arange(-300, 300, dtype=np.int16)
    window, lost = Scale("window").apply(values, Ends(full=None, window=(-100.5, 200.5)))
    assert np.array_equal(window, scaled(values, "range:-100.5,200.5")[0])
    assert lost == ("clipped",)
    with pytest.raises(ImageError, match="no window in its header"):
        scaled(values, "window")


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_refused(odd):
    with pytest.raises(ImageError, match="not a number"):
        scaled([1.0, odd], "range:0,1")


def test_percentiles_that_leave_nothing_are_refused_and_an_even_image_is_black():
    with pytest.raises(ImageError, match="both 0, of values from 0 to 4000"):
        scaled(np.array([0] * 500 + [4000], np.uint16), "percentiles:1,99")
    assert (scaled(np.full(9, 700, np.uint16), "percentiles:1,99")[0] == 0).all()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("full", "full"),
        ("window", "window"),
        ("range:200,3900", "range:200,3900"),
        ("range:-1000.50,3e3", "range:-1000.5,3000"),
        ("percentiles:0.1,99.9", "percentiles:0.1,99.9"),
    ],
)
def test_a_scale_is_written_in_one_way(text, written):
    assert str(Scale.parse(text)) == written


@pytest.mark.parametrize(
    "text", ["", "max", "full:1,2", "window:40,400", "range", "range:1", "range:2,1", "range:1,1"]
)
def test_what_is_no_scale_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        Scale.parse(text)


@pytest.mark.parametrize("ends", ["a,b", "0,inf", "-1,99", "1,101", "99,1", "1,2,3"])
def test_what_are_no_percentiles_is_refused(ends):
    with pytest.raises(ValueError, match=r".+"):
        Scale.parse(f"percentiles:{ends}")
