"""Curves over epochs and points on two axes, as positions for templates/charts.html.j2."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer.report.scales import MINUS, Scale, Tick, is_number

# Outer margins of a chart in pixels: room for tick labels left and below.
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 34
# Height of a line of text in a chart, in pixels.
_LINE = 13.0

# A value that needs more decimals than this is written with an exponent.
_PLACES = 9

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Series:
    """One curve. style: CSS classes. title: shown on hover. name: label at its end, if any."""

    points: Points
    style: str
    title: str
    name: str = ""


@dataclass(frozen=True)
class Curve:
    """A series as an SVG path. end: the pixel of its last point. name_y: where its name stands."""

    path: str
    style: str
    title: str
    name: str
    end: tuple[float, float]
    name_y: float


@dataclass(frozen=True)
class CurveChart:
    """Curves on common axes. markers: vertical lines, (pixel, text)."""

    width: int
    height: int
    x: Scale
    y: Scale
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    x_title: str
    y_title: str
    curves: Sequence[Curve]
    markers: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True)
class Mark:
    """A point in a scatter plot, in pixels. style: CSS classes; "bad" is drawn as a cross."""

    x: float
    y: float
    style: str
    title: str


@dataclass(frozen=True)
class Scatter:
    """Points on two axes; `line` is an SVG path drawn behind them, or empty."""

    width: int
    height: int
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    x_title: str
    y_title: str
    marks: Sequence[Mark]
    line: str = ""


def colour(number: int) -> str:
    """CSS class of the n-th colour, from 1. A full training and the trial it came from share it."""
    return f"s{(number - 1) % 6 + 1}"


def finite_points(history: Sequence[Mapping], key: str) -> list[tuple[float, float]]:
    """(epoch, value) of a key of a metrics.json's history; a diverged epoch's NaN is left out."""
    return [(epoch["epoch"], epoch[key]) for epoch in history if is_number(epoch.get(key))]


def curve_chart(
    series: Sequence[Series],
    *,
    width: int,
    height: int,
    y_title: str,
    x_title: str = "epoch",
    x_values: Sequence[float] | None = None,
    y_values: Sequence[float] | None = None,
    markers: Mapping[float, str] | None = None,
    room_for_names: int = 0,
) -> CurveChart | None:
    """Lay out curves over epochs; None if there is not one point.

    x_values, y_values: what the axes must show, by default the curves; several charts that share
    them can be compared by eye.
    """
    drawn = [s for s in series if s.points]
    if not drawn:
        return None
    epochs = x_values or [x for s in drawn for x, _ in s.points]
    x = Scale.around(epochs, LEFT, width - RIGHT - room_for_names, padding=0.01, logarithmic=False)
    y = Scale.around(
        y_values or [value for s in drawn for _, value in s.points], height - BOTTOM, TOP
    )
    return CurveChart(
        width=width,
        height=height,
        x=x,
        y=y,
        x_ticks=x.ticks(max(2, width // 80), integer=True),
        y_ticks=y.ticks(max(3, height // 50)),
        x_title=x_title,
        y_title=y_title + (" (log scale)" if y.logarithmic else ""),
        curves=_curves(drawn, x, y),
        markers=[(x(at), label) for at, label in (markers or {}).items()],
    )


def _curves(drawn: Sequence[Series], x: Scale, y: Scale) -> list[Curve]:
    """Paths, with the names at their ends pushed apart where they would overlap."""
    ends = {id(s): _pixels(s.points[-1], x, y) for s in drawn}
    named = sorted((s for s in drawn if s.name), key=lambda s: ends[id(s)][1])
    heights: dict[int, float] = {}
    free = -math.inf
    for series in named:
        heights[id(series)] = max(ends[id(series)][1], free)
        free = heights[id(series)] + _LINE
    return [
        Curve(
            path=_path(s.points, x, y),
            style=s.style,
            title=s.title,
            name=s.name,
            end=ends[id(s)],
            name_y=round(heights.get(id(s), 0.0), 1),
        )
        for s in drawn
    ]


def sparklines(series: Sequence[Points], width: int = 90, height: int = 20) -> list[str]:
    """Paths without axes, all on one scale, for a table's cells; "" for less than two points."""
    every = [point for points in series for point in points] or [(0, 0)]
    x = Scale.around([x for x, _ in every], 2, width - 2, padding=0, logarithmic=False)
    y = Scale.around([y for _, y in every], height - 3, 3, padding=0, logarithmic=False)
    return [_path(points, x, y) if len(points) > 1 else "" for points in series]


def _pixels(point: tuple[float, float], x: Scale, y: Scale) -> tuple[float, float]:
    return x(point[0]), y(point[1])


def _path(points: Points, x: Scale, y: Scale) -> str:
    return "M" + "L".join("{:g} {:g}".format(*_pixels(point, x, y)) for point in points)


def score(value: float, places: int = 4, signed: bool = False) -> str:
    """A metric's value with this number of decimals; a true minus sign, and a plus if wanted."""
    if value is None or not math.isfinite(value):
        return "–"  # noqa: RUF001 (an en dash in a table's cell)
    shape = f",.{places}f" if places <= _PLACES else ".4g"
    return f"{value:{'+' if signed else ''}{shape}}".replace("-", MINUS)


def figure(number: float) -> str:
    """A number of any size with four digits that count."""
    return f"{number:.4g}".replace("-", MINUS)
