"""Curves over two axes of numbers, in the colours of the contenders."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trainer.report.contenders import ContenderStyle
from trellis_contracts.charts import GUIDE, MUTED, chart, layer, number

Curve = tuple[np.ndarray, np.ndarray]

# Curves with more points than this are drawn to the thousandth of the axis.
_FINE = 300
_STEPS = 1000


def curve_chart(
    curves: Mapping[str, Curve],
    description: str,
    *,
    titles: tuple[str, str],
    ranges: tuple[tuple[float, float], tuple[float, float]] = ((0, 1), (0, 1)),
    styles: Sequence[ContenderStyle] = (),
    guide: tuple[tuple[float, float], tuple[float, float]] | None = None,
    size: tuple[int, int] = (430, 340),
    clip: bool = False,
) -> dict[str, Any]:
    """A chart of curves by name, the later over the earlier.

    titles, ranges: of the axes. styles: colours and the order of the legend; without them all
    curves are grey and have no legend. guide: the ends of a dashed line, (x, y) each. clip: leave
    out what is beyond the axes.
    """
    shown = [style for style in styles if style.name in curves]
    names = [style.name for style in shown]
    x, y = (
        number(field, title, domain=list(ends), axis={"tickCount": 5})
        for field, title, ends in zip("xy", titles, ranges, strict=True)
    )
    curve = {"field": "curve", "type": "nominal"}
    encoding: dict[str, Any] = {"x": x, "y": y, "detail": curve}
    look: dict[str, Any] = {"color": MUTED, "strokeWidth": 1.3, "opacity": 0.55}
    if shown:
        look = {"clip": True} if clip else {}
        colours = [style.colour for style in shown]
        dashes = [[8, 4] if style.again else [1, 0] for style in shown]
        encoding["color"] = {**curve, "scale": {"domain": names, "range": colours}}
        encoding["strokeDash"] = {**curve, "scale": {"domain": names, "range": dashes}}
    layers = [layer("line", encoding, **look)]
    if guide:
        ends = [{"x": x, "y": y} for x, y in guide]
        layers.insert(0, layer("line", {"x": x, "y": y}, ends, **GUIDE))
    rows = [
        {"curve": name, "x": a, "y": b}
        for name, (xs, ys) in curves.items()
        for a, b in _places(xs, ys, ranges)
    ]
    return chart(layers, description, width=size[0], height=size[1], rows=rows)


def _places(xs: np.ndarray, ys: np.ndarray, ranges: Any) -> list[tuple[float, float]]:
    """The curve's points; of many only those that differ by a thousandth of the axes."""
    xs, ys = np.asarray(xs, float), np.asarray(ys, float)
    if len(xs) <= _FINE:
        return list(zip(xs.tolist(), ys.tolist(), strict=True))
    steps = [(high - low) / _STEPS for low, high in ranges]
    rounded = (np.rint(v / step).astype(int) for v, step in zip((xs, ys), steps, strict=True))
    places = dict.fromkeys(zip(*(one.tolist() for one in rounded), strict=True))
    return [(round(a * steps[0], 9), round(b * steps[1], 9)) for a, b in places]
