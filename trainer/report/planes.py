"""Charts on two linear axes with curves, dots, bars and a line to compare with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from trainer.report.charts import BOTTOM, LEFT, RIGHT, TOP
from trainer.report.scales import Scale, Tick

# Polylines with more points than this are drawn to the pixel.
_FINE = 300


@dataclass(frozen=True)
class Line:
    """A curve as an SVG path. style: CSS classes. title: shown on hover."""

    path: str
    style: str
    title: str


@dataclass(frozen=True)
class Dot:
    """An estimate at a place, r wide; its interval reaches from `low` to `high`, in pixels."""

    x: float
    y: float
    r: float
    low: float
    high: float
    title: str


@dataclass(frozen=True)
class Bar:
    """A bar that stands on the x axis, in pixels."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class Plane:
    """All of one chart. guide: SVG path of the line to compare with. cloud: SVG path of points."""

    width: int
    height: int
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    x_title: str
    y_title: str
    name: str = ""
    remark: str = ""
    style: str = ""
    guide: str = ""
    cloud: str = ""
    lines: Sequence[Line] = ()
    dots: Sequence[Dot] = ()
    bars: Sequence[Bar] = ()


def axes(
    width: int, height: int, x_range: tuple[float, float], y_range: tuple[float, float]
) -> tuple[Scale, Scale]:
    """Linear scales that show exactly these ranges within a chart's margins."""
    return (
        Scale(*x_range, LEFT, width - RIGHT),
        Scale(*y_range, height - BOTTOM, TOP),
    )


def polyline(xs: Iterable[float], ys: Iterable[float], x: Scale, y: Scale) -> str:
    """SVG path through the points; of many only those that differ by a pixel."""
    places = [(x(a), y(b)) for a, b in zip(xs, ys, strict=True)]
    if len(places) > _FINE:
        places = list(dict.fromkeys((round(a), round(b)) for a, b in places))
    return "M" + "L".join(f"{a:g} {b:g}" for a, b in places)


def cloud(xs: np.ndarray, ys: np.ndarray, x: Scale, y: Scale) -> str:
    """SVG path of points: strokes of no length, which round line caps turn into dots."""
    places = dict.fromkeys((x(float(a)), y(float(b))) for a, b in zip(xs, ys, strict=True))
    return "".join(f"M{a:g} {b:g}h0" for a, b in places)
