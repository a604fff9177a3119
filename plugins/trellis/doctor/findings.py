"""The results of a check."""

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
class Passed:
    """A note of a check without findings."""

    text: str


@dataclass(frozen=True)
class NoAccess:
    """A check without permission. fix: the command that grants the role."""

    problem: str
    fix: str


Result = Finding | Passed | NoAccess
CheckFunction = Callable[[Target], Iterator[Finding | Passed]]


@dataclass(frozen=True)
class Check:
    """One line of the report.

    role: a role with the permissions that the check needs.
    """

    title: str
    run: CheckFunction
    role: str
