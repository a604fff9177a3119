"""Agreement of served predictions with those made offline."""

import base64
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.wording import says
from trellis.workflow.stages.deploy import skew
from trellis_contracts.challenger import Edges
from trellis_contracts.decision import NamedThreshold
from trellis_contracts.withheld import shown

SEVEN = {"label": "7", "probabilities": {"1": 0.25, "7": 0.75}}


def sizes(offline, served):
    return [d.size for d in skew.compare("a.png", offline, served)]


def test_what_is_the_same_agrees():
    assert sizes(SEVEN, SEVEN) == [0, 0]
    assert skew.skew(skew.compare("a.png", SEVEN, SEVEN)) is None


def test_probabilities_may_be_off_by_rounding():
    served = {"label": "7", "probabilities": {"1": 0.25009, "7": 0.74991}}
    assert skew.skew(skew.compare("a.png", SEVEN, served)) is None
    served = {"label": "7", "probabilities": {"1": 0.25011, "7": 0.74989}}
    found = skew.skew(skew.compare("a.png", SEVEN, served))
    assert "1 of 1 examples" in found
    assert "example a.png: probabilities." in found
    assert "(0.00011 apart, 0.0001 is allowed)" in found


@pytest.mark.parametrize("value", [0.5, -3.0, 40_000.0])
def test_values_are_compared_at_their_own_scale(value):
    allowed = skew.TOLERANCE * max(1, abs(value))
    (near,) = sizes({"value": value}, {"value": value + 0.9 * allowed})
    (far,) = sizes({"value": value}, {"value": value + 1.1 * allowed})
    assert near <= skew.TOLERANCE < far


def test_another_label_is_a_difference():
    served = {**SEVEN, "label": "1"}
    assert "label is '1', offline '7'" in skew.skew(skew.compare("a.png", SEVEN, served))


def test_another_label_is_none_where_two_classes_tie():
    offline = {"label": "no", "probabilities": {"no": 0.50004, "yes": 0.49996}}
    served = {"label": "yes", "probabilities": {"no": 0.49999, "yes": 0.50001}}
    assert skew.skew(skew.compare("a", offline, served)) is None


RARE = NamedThreshold("yes", 0.1)


@pytest.mark.parametrize(
    ("yes", "agrees"), [(0.10008, True), (0.1, True), (0.10012, False), (0.5, False)]
)
def test_another_label_is_none_near_the_threshold_that_decides(yes, agrees):
    """Also where the most probable class is another, and not where two classes tie."""
    offline = {"label": "yes", "probabilities": {"no": 1 - yes, "yes": yes}}
    served = {**offline, "label": "no"}
    assert skew.skew(skew.compare("a", offline, offline, Edges(RARE))) is None
    assert (skew.skew(skew.compare("a", offline, served, Edges(RARE))) is None) == agrees


@pytest.mark.parametrize(
    "served",
    [
        None,
        [0.25, 0.75],
        {"label": "7"},
        {"label": "7", "probabilities": [0.25, 0.75]},
        {"label": "7", "probabilities": {"1": 0.25}},
        {"label": "7", "probabilities": {"1": 0.25, "7": "0.75"}},
        {"label": "7", "probabilities": {"1": 0.25, "7": None}},
        {"label": "7", "probabilities": {"1": 0.25, "7": float("nan")}},
        {"value": 0.75},
    ],
)
def test_what_has_another_form_is_a_difference(served):
    differences = skew.compare("a.png", SEVEN, served)
    assert skew.largest(differences).size == math.inf
    assert "Train/serve skew" in skew.skew(differences)


def test_the_worst_number_is_named_and_how_many_examples_are_affected():
    served = {"label": "1", "probabilities": {"1": 0.9, "7": 0.1}}
    differences = [
        *skew.compare("good", SEVEN, SEVEN),
        *skew.compare("bad", SEVEN, served),
    ]
    said = shown(skew.skew(differences))
    assert says(said, "1 of 2 examples", "example bad", "probabilities", "0.65 apart, 0.0001")


@given(share=st.integers(1, 99), examples=st.integers(1, 1000))
def test_so_many_requests_reach_the_challenger(share, examples):
    limit = skew.tries(share, examples)

    def missed(tries):
        """The probability that one of the examples never reaches it, at most."""
        return examples * (1 - share / 100) ** tries

    assert missed(limit) <= skew.MISS_PROBABILITY * (1 + 1e-6)
    assert missed(limit - 1) > skew.MISS_PROBABILITY * (1 - 1e-6)


def test_at_all_requests_one_is_enough():
    assert skew.tries(100, 20) == 1


FINDINGS = {"labels": ["mass"], "probabilities": {"mass": 0.9, "nodule": 0.50004}}


@pytest.mark.parametrize(
    ("labels", "agrees"),
    [
        (["mass"], True),
        (["mass", "nodule"], True),  # as near to a half as makes no difference
        ([], False),
        (["mass", "effusion"], False),
        ("mass", False),
    ],
)
def test_sets_of_labels_agree_but_for_a_probability_of_a_half(labels, agrees):
    found = skew.skew(skew.compare("a", FINDINGS, {**FINDINGS, "labels": labels}))
    assert (found is None) == agrees


UNSURE = {"label": "no", "probabilities": {"no": 0.52, "yes": 0.48}, "abstained": True}
SET = {**UNSURE, "set": ["no", "yes"]}


@pytest.mark.parametrize(
    ("offline", "served", "edges", "agrees"),
    [
        (UNSURE, {"abstained": False}, Edges(abstain_below=0.52005), True),
        (UNSURE, {"abstained": False}, Edges(abstain_below=0.6), False),
        (UNSURE, {"abstained": False}, Edges(NamedThreshold("yes", 0.4), 0.08), True),
        (UNSURE, {"abstained": False}, Edges(NamedThreshold("yes", 0.4), 0.52), False),
        (UNSURE, {"abstained": "no"}, Edges(abstain_below=0.52), False),
        (SET, {"set": ["no"]}, Edges(abstain_below=0.6, set_above=0.48), True),
        (SET, {"set": ["no"]}, Edges(abstain_below=0.6, set_above=0.3), False),
        (SET, {"set": "no"}, Edges(abstain_below=0.6, set_above=0.48), False),
    ],
)
def test_what_is_beside_a_label_may_differ_at_the_edge_alone(offline, served, edges, agrees):
    assert skew.skew(skew.compare("a", offline, offline, edges)) is None
    differing = skew.compare("a", offline, {**offline, **served}, edges)
    assert (skew.skew(differing) is None) == agrees


@pytest.mark.parametrize(
    ("interval", "agrees"),
    [([1.0, 3.0], True), ([1.0, 3.0001], True), ([1.0, 3.1], False), ([1.0], False), (2, False)],
)
def test_the_ends_of_an_interval_are_numbers_as_the_value_is(interval, agrees):
    offline = {"value": 2.0, "interval": [1.0, 3.0]}
    found = skew.skew(skew.compare("a", offline, {**offline, "interval": interval}))
    assert (found is None) == agrees


def masked(mask, **shares):
    """The answer of a segmentation; without shares, those of the mask."""
    file = io.BytesIO()
    Image.fromarray(mask).save(file, "png")
    light = float(mask.mean())
    counted = shares or {"dark": 1 - light, "light": light}
    return {"mask": {"b64": base64.b64encode(file.getvalue()).decode()}, "shares": counted}


def with_others(size, pixels):
    """A mask of this height and width, and it with another class in some of its pixels."""
    mask = np.zeros((size, size), np.uint8)
    other = mask.copy()
    other.flat[:pixels] = 1
    return masked(mask), masked(other)


@pytest.mark.parametrize(
    ("size", "pixels", "agrees"), [(200, 4, True), (200, 5, False), (8, 1, True), (8, 2, False)]
)
def test_a_mask_may_differ_in_a_ten_thousandth_of_its_pixels_or_in_one(size, pixels, agrees):
    differences = skew.compare("a.png", *with_others(size, pixels))
    pixels, *shares = (one.field for one in differences)
    assert "pixels" in pixels
    assert shares == ["shares.dark", "shares.light"]
    assert (skew.skew(differences) is None) == agrees


def test_a_mask_that_differs_is_told_by_its_pixels_and_quotes_no_file():
    mask = np.zeros((100, 100), np.uint8)
    mask[0, :30] = 1
    whole = skew.skew(skew.compare("a.png", masked(mask), masked(mask.T)))
    assert "1 of 1 examples" in whole
    assert says(whole, "pixels", "0.0058, offline 0.0")
    assert "b64" not in whole


@pytest.mark.parametrize(
    "answer",
    [
        {"mask": {"b64": "no picture"}, "shares": {"dark": 1.0, "light": 0.0}},
        {"mask": None, "shares": {"dark": 1.0, "light": 0.0}},
        masked(np.zeros((8, 9), np.uint8)),
        masked(np.zeros((8, 8, 3), np.uint8), dark=1.0, light=0.0),
        masked(np.zeros((8, 8), np.uint8), dark=1.0),
        masked(np.zeros((8, 8), np.uint8), dark=1.0, light=math.nan),
        {"mask": {"b64": ""}},
    ],
)
def test_another_answer_than_a_mask_and_its_shares_is_a_difference(answer):
    offline, _ = with_others(8, 0)
    assert skew.skew(skew.compare("a.png", offline, answer)) is not None
