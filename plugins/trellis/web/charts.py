"""Drawings of numbers, as coordinates for the templates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trellis.results.curves import Curve, Curves
from trellis.results.scores import places, score
from trellis.workflow.contracts.record import Result, RunRecord, Scored

WIDTH, HEIGHT = 720, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 12, 28
MOST = 100
"""Points that are drawn; older ones are in the list."""


@dataclass(frozen=True)
class Tick:
    """A line across the drawing. y: in pixels from the top."""

    y: float
    label: str


@dataclass(frozen=True)
class Point:
    """The score of a run's winner or, if served, of what it put into service, which may
    be another one. x, y, low, high: in pixels from the left or the top.
    """

    x: float
    y: float
    low: float
    high: float
    served: bool
    label: str


@dataclass(frozen=True)
class History:
    """Scores of an experiment's winners and served models, oldest first. runs: how many are drawn.

    changes: where, in pixels from the left, a run has another dataset than the one before. left
    out: runs whose primary metric is another one, or that are too old.
    """

    metric: str
    goal: str
    runs: int
    points: tuple[Point, ...]
    ticks: tuple[Tick, ...]
    changes: tuple[float, ...]
    left_out: int
    first: str
    last: str


def history(runs: Sequence[RunRecord]) -> History | None:
    """Draw the scores of runs of one experiment, newest first; None if none has a result."""
    ended = [(run, run.result) for run in reversed(runs) if run.result]
    if not ended:
        return None
    newest = ended[-1][1]
    shown = [one for one in ended if one[1].metric == newest.metric][-MOST:]
    # An interval need not enclose the value that it belongs to.
    values = [value for _, r in shown for s in _drawn(r) for value in (s.low, s.value, s.high)]
    ticks = _ticks(min(values), max(values))
    low, high = ticks[0], ticks[-1]

    def y(value: float) -> float:
        return round(_TOP + (high - value) / (high - low) * (HEIGHT - _TOP - _BOTTOM), 1)

    step = (WIDTH - _LEFT - _RIGHT) / len(shown)
    xs = [round(_LEFT + (i + 0.5) * step, 1) for i in range(len(shown))]
    digits = _digits(ticks, newest)
    return History(
        metric=newest.title,
        goal=newest.goal,
        runs=len(shown),
        points=tuple(
            Point(x, y(s.value), y(s.low), y(s.high), s == r.served, _label(run, r, s))
            for x, (run, r) in zip(xs, shown, strict=True)
            for s in _drawn(r)
        ),
        ticks=tuple(Tick(y(tick), f"{tick:.{digits}f}") for tick in ticks),
        changes=tuple(
            round(x - step / 2, 1)
            for x, (run, _), (before, _) in zip(xs[1:], shown[1:], shown, strict=False)
            if run.dataset != before.dataset
        ),
        left_out=len(ended) - len(shown),
        first=shown[0][0].created[:10],
        last=shown[-1][0].created[:10],
    )


@dataclass(frozen=True)
class Line:
    """A training's curve.

    place: of its run, from 1. points: as an SVG polyline has them. best: where, in pixels, the kept
    epoch is; None if its value is not finite.
    """

    place: int
    points: str
    best: tuple[float, float] | None
    label: str


@dataclass(frozen=True)
class Learning:
    """Learning curves on common axes. epochs: of the longest."""

    metric: str
    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    epochs: int


def learning(curves: Curves) -> Learning:
    """Draw the learning curves of the runs that have one."""
    drawn = [(place, curve) for place, curve in enumerate(curves.curves, 1) if curve]
    values = [value for _, curve in drawn for _, value in curve.points]
    epochs = max(epoch for _, curve in drawn for epoch, _ in curve.points)
    ticks = _ticks(min(values), max(values))
    low, high = ticks[0], ticks[-1]

    def at(epoch: int, value: float) -> tuple[float, float]:
        x = _LEFT + (epoch - 1) / max(epochs - 1, 1) * (WIDTH - _LEFT - _RIGHT)
        y = _TOP + (high - value) / (high - low) * (HEIGHT - _TOP - _BOTTOM)
        return round(x, 1), round(y, 1)

    def line(place: int, curve: Curve) -> Line:
        best = dict(curve.points).get(curve.best)
        kept = "" if best is None else f": {best:.4g} in epoch {curve.best}, which was kept"
        return Line(
            place,
            " ".join(f"{x},{y}" for x, y in (at(*point) for point in curve.points)),
            None if best is None else at(curve.best, best),
            f"run {place}, {curve.training}{kept}",
        )

    digits = max(0, -math.floor(math.log10(ticks[1] - ticks[0])))
    return Learning(
        curves.metric,
        tuple(line(place, curve) for place, curve in drawn),
        tuple(Tick(at(1, tick)[1], f"{tick:.{digits}f}") for tick in ticks),
        epochs,
    )


def _drawn(result: Result) -> list[Scored]:
    """The winner, and what was put into service beside it."""
    found = [result.first]
    if result.served and result.served != result.first:
        found.append(result.served)
    return found


def _label(run: RunRecord, result: Result, shown: Scored) -> str:
    what = ["the winner"] if shown == result.first else []
    what += ["put into service"] if shown == result.served else []
    return f"{run.folder}: {shown.name} {score(shown, result.decimals)}, {' and '.join(what)}"


def _ticks(low: float, high: float) -> list[float]:
    """Three to seven round numbers, of which the first and last enclose the values."""
    # Less than floating point tells apart, or nothing at all.
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-3):
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 4
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(magnitude * m for m in (1, 2, 5, 10) if magnitude * m >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * n for n in range(first, last + 1)]


def _digits(ticks: Sequence[float], result: Result) -> int:
    needed = -math.floor(math.log10(ticks[1] - ticks[0]))
    return max(0, min(needed, places(result.decimals)))
