"""What a check tells."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trellis.doctor.patient import Patient


@dataclass(frozen=True)
class Finding:
    """Something that is wrong. why: what would fail. mend: a command, or what to do."""

    problem: str
    why: str
    mend: str


@dataclass(frozen=True)
class Seen:
    """Something that is as it should be, worth a word."""

    text: str


@dataclass(frozen=True)
class Hidden:
    """Something that the caller may not look at. mend: the command that gives the right to."""

    problem: str
    mend: str


Told = Finding | Seen | Hidden
Look = Callable[[Patient], Iterator[Finding | Seen]]


@dataclass(frozen=True)
class Check:
    """One line of the report.

    role: what gives the caller the right to look, without which the check finds nothing.
    """

    title: str
    look: Look
    role: str
