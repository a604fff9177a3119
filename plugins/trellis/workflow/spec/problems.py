"""Problems of a file that a person wrote: everything at once, with line and field."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# Names in a message; a table may have thousands of columns.
_SHOWN = 40

Field = tuple[str | int, ...]
"""Place in a file: ("tune", "search", "learning_rate", "from")."""

GUIDE = "docs/what-trellis-does-not-do.md"
"""The page for what no task learns."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. `message` says what was found and what was expected."""

    field: Field
    message: str
    line: int | None = None

    def __str__(self) -> str:
        parts = [
            f"line {self.line}" if self.line else "",
            ".".join(str(part) for part in self.field),
        ]
        return f"{', '.join(p for p in parts if p) or 'the file'}: {self.message}"


class FileError(ValueError):
    """A file cannot be used as it is. `problems` are in the order of the file."""

    def __init__(self, name: str, problems: Iterable[Problem]):
        self.name = name
        self.problems = sorted(problems, key=lambda problem: problem.line or 0)
        count = len(self.problems)
        title = f"{name}: {count} problem{'s' if count > 1 else ''}"
        text = "\n  ".join([title, *map(str, self.problems)])
        # A file's name may be no text; who shows or stores the message expects one.
        super().__init__(text.encode("utf-8", "backslashreplace").decode())


@contextmanager
def about_file(name: object) -> Iterator[None]:
    """Makes any exception a FileError: what is wrong with a file must cost that file alone.

    What can be wrong with one is refused by rules, with its line; this is for what no rule knows.
    """
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {error}"[:400]
        problem = Problem((), f"Trellis cannot read it, and has no rule that says why: {message}")
        raise FileError(str(name), [problem]) from error


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean 'trials'? Known: epochs, trials`, for a word that is not known."""
    names = sorted(known)
    nearest = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    hint = f"did you mean '{nearest[0]}'? " if nearest else ""
    shown = ", ".join(names[:_SHOWN]) or "none"
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{hint}Known: {shown}{more}"
