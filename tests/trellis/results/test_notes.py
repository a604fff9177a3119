"""Names and notes of runs, in a real Cloud Storage."""

import pytest

from tests.trellis.results.made import a_run
from trellis.results import load_index
from trellis.results.notes import LONGEST, NoteError, append, note
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.record import NotesRecord


@pytest.fixture
def run(bucket):
    return Run(bucket, "digits", "r")


def test_notes_are_added_and_the_last_name_counts(digits, client, bucket, add, run):
    add(a_run(digits))
    append(client, run, note("half the rate", "baseline"))
    append(client, run, note("", "first try"))
    (found,) = load_index(client, bucket).runs
    assert [(one.name, one.text) for one in found.notes] == (
        [("baseline", "half the rate"), ("first try", "")]
    )
    assert found.name == "first try"


def test_what_another_person_adds_meanwhile_stays(digits, client, bucket, add, run, monkeypatch):
    """Both have read the same notes; the second to write reads them again."""
    add(a_run(digits))
    others = [note("from grace", None)]
    write = NotesRecord.upload

    def meanwhile(self, blob, **conditions):
        if others:
            append(client, run, others.pop())
        return write(self, blob, **conditions)

    monkeypatch.setattr(NotesRecord, "upload", meanwhile)
    append(client, run, note("from ada", None))
    (found,) = load_index(client, bucket).runs
    assert [one.text for one in found.notes] == ["from grace", "from ada"]


def test_the_run_writes_its_record_without_notes(digits, client, bucket, add, run):
    add(a_run(digits))
    append(client, run, note("half the rate", None))
    (found,) = load_index(client, bucket).runs
    assert "half the rate" not in found.text


def test_notes_longer_than_metadata_are_read_from_their_object(digits, client, bucket, add, run):
    add(a_run(digits))
    for _ in range(5):
        append(client, run, note("x" * LONGEST, None))
    (found,) = load_index(client, bucket).runs
    assert [len(one.text) for one in found.notes] == [LONGEST] * 5


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (" ", None, "empty"),
        ("x" * (LONGEST + 1), None, f"{LONGEST} are the most"),
        ("", "a/b", "without /"),
        ("", "two\nlines", "one line"),
        ("", " ", "one line"),
        ("", "x" * 61, "60 are the most"),
    ],
)
def test_what_is_no_note(text, name, told):
    with pytest.raises(NoteError, match=told):
        note(text, name)
