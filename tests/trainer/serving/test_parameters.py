import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.serving import parameters
from trainer.serving.parameters import Explain, options

OF_ROWS, OF_IMAGES = (options(columns=rows, images=not rows) for rows in (True, False))


def wrong(explain, allowed=OF_ROWS):
    _, violations = parameters.read({"explain": explain}, allowed)
    return {violation.field: violation.description for violation in violations}


@pytest.mark.parametrize("nothing", [None, {}, {"explain": None}])
def test_nothing_is_explained_unless_asked_for(nothing):
    assert parameters.read(nothing, OF_ROWS) == (None, [])


def test_every_field_has_a_default():
    assert parameters.read({"explain": {}}, OF_ROWS) == (Explain(None, 10, 50, None), [])
    assert parameters.read({"explain": {"class": None}}, OF_ROWS) == (Explain(), [])


def test_numbers_as_protobuf_sends_them():
    asked, _ = parameters.read({"explain": {"paths": 20.0, "class": "7"}}, OF_ROWS)
    assert asked == Explain("7", paths=20)
    assert isinstance(asked.paths, int)
    asked, _ = parameters.read({"explain": {"steps": 30.0, "baseline": "white"}}, OF_IMAGES)
    assert asked == Explain(steps=30, baseline="white")


@pytest.mark.parametrize(
    ("explain", "allowed", "field", "reason"),
    [
        ({"paths": 7}, OF_ROWS, "paths", "expected an even number from 4 to 50"),
        ({"paths": 2}, OF_ROWS, "paths", "even number"),
        ({"paths": 52}, OF_ROWS, "paths", "even number"),
        ({"paths": True}, OF_ROWS, "paths", "even number"),
        ({"paths": "10"}, OF_ROWS, "paths", "even number"),
        ({"paths": 10.5}, OF_ROWS, "paths", "even number"),
        ({"class": 7}, OF_ROWS, "class", "the name of a class, a string"),
        ({"steps": 50}, OF_ROWS, "steps", "unknown; expected class, paths"),
        ({"steps": 15}, OF_IMAGES, "steps", "a whole number from 16 to 300"),
        ({"steps": 1e300}, OF_IMAGES, "steps", "a whole number from 16 to 300"),
        ({"baseline": "red"}, OF_IMAGES, "baseline", "expected black, grey, white"),
        ({"baseline": ["red"]}, OF_IMAGES, "baseline", "expected black, grey, white"),
        ({"paths": 10}, OF_IMAGES, "paths", "unknown; expected class, steps, baseline"),
    ],
)
def test_what_is_wrong_is_named(explain, allowed, field, reason):
    ((place, said),) = wrong(explain, allowed).items()
    assert place == f"parameters.explain.{field}"
    assert reason in said


def test_everything_wrong_is_told_at_once():
    assert list(wrong({"paths": 1, "class": [], "x" * 99: 0})) == [
        "parameters.explain.paths",
        "parameters.explain.class",
        f"parameters.explain.{'x' * 30}...",
    ]
    for value in (True, "yes", []):
        assert list(wrong(value)) == ["parameters.explain"]
    _, violations = parameters.read({"explain": {}, "threshold": 1}, OF_ROWS)
    assert [violation.field for violation in violations] == ["parameters.threshold"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["explain", *OF_ROWS, *OF_IMAGES, "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(
    VALUES.map(lambda value: json.loads(json.dumps(value))), st.sampled_from([OF_ROWS, OF_IMAGES])
)
def test_whatever_comes_is_read_or_refused(value, allowed):
    asked, violations = parameters.read(value, allowed)
    if asked and not violations:
        assert 4 <= asked.paths <= 50
        assert 16 <= asked.steps <= 300
        assert asked.baseline in (None, *parameters.BASELINES)
