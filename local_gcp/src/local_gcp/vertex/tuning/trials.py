"""The record of a trial, and the selection of its final measurement."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Iterable

from local_gcp.vertex.tuning.space import Value


class State(enum.IntEnum):
    """`Trial.State`; the numbers are the API's."""

    ACTIVE = 2
    STOPPING = 3
    """Asked to stop early; its processes are being ended."""
    SUCCEEDED = 4
    """Done, with a final measurement (early-stopped trials too)."""
    INFEASIBLE = 5
    """Done without a final measurement: failed, cancelled, or nothing was reported."""


DONE = frozenset({State.SUCCEEDED, State.INFEASIBLE})


@dataclasses.dataclass(frozen=True, order=True)
class Measurement:
    """The metric's value at one moment of a trial. Sorts as Vertex does: by step, then time."""

    step: int
    elapsed: float
    """Seconds since the trial started."""
    value: float


@dataclasses.dataclass(frozen=True)
class Trial:
    """One evaluation of the objective. Times are seconds since the epoch."""

    id: str
    """"1", "2", ... in the order in which the trials were suggested."""
    parameters: dict[str, Value]
    state: State = State.ACTIVE
    measurements: tuple[Measurement, ...] = ()
    """Strictly increasing."""
    final: Measurement | None = None
    start: float | None = None
    """Start of the trial; None while it waits for a machine."""
    end: float | None = None
    infeasible_reason: str = ""
    stopped_early: bool = False
    """By a stopping rule; it is then never a failure."""

    @property
    def done(self) -> bool:
        return self.state in DONE


def merge(known: Iterable[Measurement], reported: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """Add newly read measurements to the known ones, without losing or repeating any.

    A metric file holds the last 100 reports only and starts again when a replica is restarted, so
    earlier measurements stay. NaN and infinity are ignored, since they cannot be compared.
    """
    finite = (m for m in reported if math.isfinite(m.value))
    return tuple(sorted({*known, *finite}))


def select_final(
    measurements: tuple[Measurement, ...], *, best: bool, maximize: bool
) -> Measurement | None:
    """The final measurement of a trial that is done (`MeasurementSelectionType`).

    The last one, or the best one (the earliest of equals); None if there is none.
    """
    if not measurements:
        return None
    if not best:
        return measurements[-1]
    pick = max if maximize else min
    return pick(measurements, key=lambda m: m.value)
