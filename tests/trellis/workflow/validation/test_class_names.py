import pytest

from trellis.workflow.validation.class_names import MISSING, UNLABELLED, doubts


@pytest.mark.parametrize("classes", [[], ["ill", "well"], ["0", "00"], ["<50K", ">50K"]])
def test_names_that_people_tell_apart_raise_no_doubt(classes):
    assert list(doubts(classes)) == []


@pytest.mark.parametrize("other", ["Ill", "ill ", "\u00a0ill", "ILL", "ill\t"])
def test_spellings_of_one_name_are_named(other):
    (doubt,) = doubts(["well", "ill", other])
    assert repr(other) in doubt
    assert "'ill'" in doubt
    assert "well" not in doubt


@pytest.mark.parametrize("name", UNLABELLED)
@pytest.mark.parametrize("spelled", [str, str.title, str.upper, lambda n: n.replace(" ", "_")])
def test_names_of_examples_without_a_label_are_named(name, spelled):
    (doubt,) = doubts(["ill", "well", spelled(name)])
    assert repr(spelled(name)) in doubt


def test_an_accent_may_be_encoded_in_two_ways():
    (doubt,) = doubts(["caf\u00e9", "cafe\u0301"])
    assert "differ" in doubt


@pytest.mark.parametrize("name", [*MISSING, " ", "\u3000"])
def test_names_for_a_missing_value_are_named(name):
    (doubt,) = doubts(["ill", "well", name])
    assert repr(name) in doubt


def test_of_many_only_some_are_listed():
    letters = "abcdefghijklmnopqrstuvwxyz"
    (doubt,) = doubts([*letters, *letters.upper()])
    assert len(doubt) < 300
