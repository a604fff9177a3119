"""Messages about rows: what a log gets, and what only the bucket has."""

import pickle

from hypothesis import given
from hypothesis import strategies as st

from trellis_contracts.withheld import (
    RowsError,
    at_keys,
    for_log,
    quoted,
    shown,
    some_of,
    withheld,
)

# No part of the words around.
SECRET = "Ωpatient_17"
SECRETS = st.text().map(lambda text: f"{SECRET}{text}{SECRET}")


@given(st.lists(SECRETS, min_size=1), SECRETS)
def test_no_value_is_left_in_the_message_for_a_log(values, label):
    some = some_of(values, "key")
    text = f"Of {some}{at_keys(values)}: {quoted(label)}, {quoted(f'({some})', '')}"
    assert SECRET not in withheld(text)
    assert f"Of {len(values):,} key" in withheld(text)
    assert SECRET in shown(text)
    assert not set(shown(text)) & set("\ufdd0\ufdd1\ufdd2")


@given(st.lists(SECRETS, min_size=1), st.integers(0, 200))
def test_no_value_is_left_of_a_message_that_was_cut(values, length):
    assert SECRET not in withheld(f"Of {some_of(values, 'key')} and others"[:length])


@given(st.text(alphabet=st.characters(exclude_characters="\ufdd0\ufdd1\ufdd2")))
def test_a_message_without_values_stays(text):
    assert withheld(text) == shown(text) == text


def test_words_stand_for_values():
    text = f"{some_of(['a', 'b', 'c'], 'class', 'classes', most=2)} differ{at_keys(['k'])}"
    assert withheld(text) == "3 classes differ"
    assert shown(text) == "'a', 'b', ... differ, as at the key 'k'"


def test_an_error_is_withheld_wherever_it_is_printed():
    error = RowsError(f"label {quoted(repr(SECRET))} is unknown")
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert str(one) == f"{one}" == "label (withheld) is unknown"
        assert shown(one.text) == f"label '{SECRET}' is unknown"
    assert SECRET not in str(RowsError(f"gs://b/m.csv: {error}"))
    assert SECRET in shown(RowsError(f"gs://b/m.csv: {error.text}").text)


def test_what_a_log_lacks_is_written_once_with_its_address():
    written = []

    def write(content):
        written.append(content.decode())
        return "gs://b/examples/check.txt"

    assert for_log(["nothing to hide"], write) == ["nothing to hide"]
    assert written == []
    *texts, address = for_log(["all is well", f"key {quoted(SECRET, 'a')} repeats"], write)
    assert texts == ["all is well", "key a repeats"]
    assert address.endswith(" gs://b/examples/check.txt")
    assert written == [f"all is well\nkey {SECRET} repeats\n"]
