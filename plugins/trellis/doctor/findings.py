"""The results of a diagnosis."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trellis.doctor.target import Target


@dataclass(frozen=True)
class Finding:
    """A problem. why: what would fail. fix: a command, or what to do."""

    problem: str
    why: str
    fix: str


@dataclass(frozen=True)
class Notice:
    """Something to know, which hinders no run today. Fields as those of a Finding."""

    problem: str
    why: str
    fix: str


@dataclass(frozen=True)
class Passed:
    """A note of a diagnosis without findings."""

    text: str


@dataclass(frozen=True)
class NoAccess:
    """A diagnosis without permission. fix: the command that grants the role."""

    problem: str
    fix: str


Result = Finding | Notice | Passed | NoAccess
DiagnosisFunction = Callable[[Target], Iterator[Result]]


@dataclass(frozen=True)
class Diagnosis:
    """One line of the report.

    role: a role with the permissions that the diagnosis needs.
    """

    title: str
    run: DiagnosisFunction
    role: str
