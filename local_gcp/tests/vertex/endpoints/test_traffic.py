"""The traffic split alone."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.vertex.endpoints import traffic
from local_gcp.wire import RpcError


@st.composite
def splits(draw):
    """Whole percentages of up to five models that add up to 100."""
    cuts = sorted(draw(st.lists(st.integers(0, 100), max_size=4)))
    edges = [0, *cuts, 100]
    return {str(i): b - a for i, (a, b) in enumerate(itertools.pairwise(edges))}


@given(splits())
def test_each_model_is_chosen_as_often_as_its_share_says(split):
    traffic.check(split, split, "traffic_split")
    chosen = [traffic.choose(split, (place + 0.5) / 100) for place in range(100)]
    assert {model: chosen.count(model) for model in split} == split


@given(splits(), st.floats(0, 1, exclude_max=True))
def test_the_order_in_which_it_was_written_does_not_count(split, place):
    assert traffic.choose(split, place) == traffic.choose(dict(reversed(split.items())), place)


def test_an_empty_split_takes_no_traffic():
    traffic.check({}, ["1"], "traffic_split")
    assert traffic.choose({}, 0.5) is None


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ({"1": 99}, "must add up to 100, they add up to 99"),
        ({"1": 50, "3": 50}, "'3' is not the ID of a DeployedModel"),
        ({"1": 120, "2": -20}, "The traffic of '1' is 120"),
    ],
)
def test_a_wrong_split_is_refused(split, words):
    with pytest.raises(RpcError, match=words) as refused:
        traffic.check(split, ["1", "2"], "traffic_split")
    assert refused.value.code.name == "INVALID_ARGUMENT"
