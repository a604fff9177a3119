"""The section `local` of an experiment file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trellis.workflow.spec.files import GOOD
from tests.wording import says
from trellis.workflow.spec.problems import FileError
from trellis.workflow.spec.profile import merge
from trellis.workflow.validation.file import load

scalars = st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=2)
names = st.sampled_from("abc")


def mappings(leaves):
    return st.dictionaries(
        names,
        st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=3)),
        max_size=3,
    )


def test_mappings_merge_other_values_replace_and_null_removes():
    values = {"a": {"x": 1, "y": [1, 2]}, "b": 1, "c": {"x": 1}}
    changes = {"a": {"y": [3]}, "b": {"z": 2}, "c": None, "d": {"e": None}}
    assert merge(values, changes) == {"a": {"x": 1, "y": [3]}, "b": {"z": 2}, "d": {}}


@given(mappings(scalars), mappings(scalars | st.none()))
def test_what_changes_name_is_theirs_and_the_rest_is_as_it_was(values, changes):
    merged = merge(values, changes)
    assert merge(values, {}) == values
    assert merge(merged, changes) == merged
    for name in set(values) | set(changes):
        if name not in changes:
            assert merged[name] == values[name]
        elif changes[name] is None:
            assert name not in merged
        elif not isinstance(changes[name], dict):
            assert merged[name] == changes[name]
        else:
            assert set(merged[name]) >= {n for n, v in changes[name].items() if v is not None}


def test_only_a_local_platform_takes_the_section(write):
    text = f"{GOOD}local:\n  train: {{top: null, epochs: 3}}\n  tune: {{trials: 2}}\n"
    file = write(text)
    plain, local = load(file), load(file, profile="local")
    assert (plain.tuning.trials, plain.train.top, plain.train.epochs) == (4, 2, 10)
    assert (local.tuning.trials, local.train.top, local.train.epochs) == (2, 1, 3)
    assert plain.configuration() == load(write(GOOD)).configuration()
    assert "local" not in local.configuration()


def test_a_mistake_is_told_with_its_form_and_its_line(write):
    file = write(f"{GOOD}local:\n  train:\n    epochs: 0\n")
    line = GOOD.count("\n") + 3
    load(file)
    with pytest.raises(FileError) as raised:
        load(file, profile="local")
    assert says(str(raised.value), "`local`: 1 problem", f"line {line}, train.epochs:")


@pytest.mark.parametrize("section", ["3", "[train]", "{local: {}}"])
def test_what_is_no_section(write, section):
    with pytest.raises(FileError, match=rf"line {GOOD.count(chr(10)) + 1}, local"):
        load(write(f"{GOOD}local: {section}\n"))
