"""Names and notes that people give runs. They are added to; nothing is ever replaced."""

import getpass
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from trellis.results.files import blob
from trellis.workflow.contracts.index_document import text_of
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.record import Note, NotesRecord, RunRecord

LONGEST = 2000
"""Characters of a note: a paragraph, as the list of all runs reads every one."""

LONGEST_NAME = 60
"""Characters of a name: the width of its column in a terminal."""

_ATTEMPTS = 5


class NoteError(ValueError):
    """A note that cannot be kept; the message says why, and what to do."""


def note(text: str, name: str | None) -> Note:
    """A note of the person who runs this, now. Raises NoteError if it cannot be kept."""
    if not text.strip() and name is None:
        raise NoteError("The note is empty: give a text, or --name NAME.")
    if len(text) > LONGEST:
        raise NoteError(f"The note has {len(text)} characters; {LONGEST} are the most.")
    if name is not None:
        if not name.strip() or not name.isprintable() or "/" in name:
            raise NoteError(f"--name {name!r}: a name is one line with a letter in it, without /.")
        if len(name) > LONGEST_NAME:
            raise NoteError(f"--name has {len(name)} characters; {LONGEST_NAME} are the most.")
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Note(at=at, by=_user(), name=name and name.strip(), text=text.strip())


def require_free(new: Note, run: RunRecord, known: Iterable[RunRecord]) -> None:
    """Raise NoteError if another run of the experiment is called so already."""
    for other in known:
        names = (other.name, other.folder, other.run_id)
        own = other.experiment == run.experiment and other.uri != run.uri
        if own and new.name and new.name in names:
            raise NoteError(f"{new.name} is the name of {other.folder}: take another.")


def append(client: Any, run: Run, new: Note) -> None:
    """Add a note to those of a run; what another person adds meanwhile stays.

    client: google.cloud.storage.Client. Raises NoteError if others keep writing, or for notes that
    another version of Trellis wrote.
    """
    from google.cloud.exceptions import NotFound, PreconditionFailed

    for _ in range(_ATTEMPTS):
        kept = blob(client, run.notes)
        try:
            kept.reload()
            known = NotesRecord.model_validate_json(text_of(kept))
            generation = kept.generation
        except NotFound:
            known = NotesRecord(experiment=run.experiment, folder=run.folder)
            generation = 0
        except ValueError as error:
            raise NoteError(f"{run.notes} is of another version of Trellis: {error}") from error
        record = known.model_copy(update={"notes": (*known.notes, new)})
        try:
            record.upload(blob(client, run.notes), if_generation_match=generation)
        except PreconditionFailed:
            continue
        return
    raise NoteError(f"Others write {run.notes} at this moment: try again.")


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return None
