import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis.vertex.traffic import normalized, raised, withdrawn

IDS = ["1", "2", "3", "4"]


@st.composite
def endpoints(draw):
    """(split, deployed): as an endpoint may have been left, models that are gone included."""
    deployed = draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1))
    split = draw(st.dictionaries(st.sampled_from(IDS), st.integers(0, 100), max_size=4))
    return split, deployed


def is_right(split, deployed):
    return sum(split.values()) == 100 and set(split) <= set(deployed) and all(split.values())


def test_the_others_give_in_proportion():
    assert raised({"1": 90, "2": 10}, ["2", "1"], "2", 50) == {"1": 50, "2": 50}
    assert raised({"1": 60, "2": 40}, IDS[:3], "3", 10) == {"1": 54, "2": 36, "3": 10}
    # 22.33, 22.33 and 22.33: one of them gets the percent that is left, always the same one.
    assert raised({"1": 34, "2": 33, "3": 33}, IDS, "4", 33) == {"1": 23, "2": 22, "3": 22, "4": 33}


def test_the_first_model_gets_all():
    assert raised({}, ["1"], "1", 10) == {"1": 100}
    assert raised({"1": 100}, ["2"], "2", 10) == {"2": 100}


def test_traffic_goes_back_to_the_heir():
    assert withdrawn({"1": 40, "2": 50, "3": 10}, IDS, "2", "1") == {"1": 100}


def test_without_a_deployed_heir_the_others_share():
    assert withdrawn({"1": 40, "2": 50, "3": 10}, IDS, "2", "7") == {"1": 80, "3": 20}
    assert withdrawn({"2": 100}, ["3", "2", "1"], "2", None) == {"3": 100}
    assert withdrawn({"2": 100}, ["2"], "2", None) == {}


@given(endpoints(), st.data(), st.integers(0, 100))
def test_a_raised_split_is_right(endpoint, data, share):
    split, deployed = endpoint
    id_ = data.draw(st.sampled_from(deployed))
    after = raised(split, deployed, id_, share)
    assert is_right(after, deployed)
    assert after.get(id_, 0) >= share
    assert raised(after, deployed, id_, share) == after


@given(st.lists(st.integers(1, 97), min_size=4, max_size=4), st.integers(0, 100))
def test_proportions_are_kept_to_within_one(weights, share):
    before = normalized(dict(zip(IDS, weights, strict=True)), IDS)
    own = before.get("1", 0)
    after = raised(before, IDS, "1", share)
    if share <= own:
        assert after == before
    for id_ in set(before) - {"1"} if share > own else ():
        exact = before[id_] * (100 - share) / (100 - own)
        assert abs(after.get(id_, 0) - exact) < 1


@given(endpoints(), st.data())
def test_a_split_without_a_model_is_right(endpoint, data):
    split, deployed = endpoint
    leaving = data.draw(st.sampled_from(deployed))
    heir = data.draw(st.sampled_from([*IDS, None]))
    after = withdrawn(split, deployed, leaving, heir)
    staying = [id_ for id_ in deployed if id_ != leaving]
    assert is_right(after, staying) if staying else after == {}


def test_what_is_not_deployed_gets_no_traffic():
    with pytest.raises(ValueError, match=r"Model 9 is not deployed \(deployed: 1, 2\)"):
        raised({"1": 100}, ["1", "2"], "9", 10)
    with pytest.raises(ValueError, match="101 is not between 0 and 100"):
        raised({"1": 100}, ["1", "2"], "2", 101)
