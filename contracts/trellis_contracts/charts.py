"""Vega-Lite charts in one look: the report's, and those of the pages in Airflow.

A chart is a specification that holds its data; any program that reads Vega-Lite draws it, here
vl-convert. Its colours are those of a page in the light theme. `inlined` names them by the page's
CSS variables, so that a drawing in a page follows the reader's theme.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Axis = Mapping[str, Any] | None

VERSION = "6.4"
"""Version of Vega-Lite, as vl-convert names it."""

INK, MUTED, GRID, PAPER, WHITE = "#1b2226", "#59656c", "#e7eae6", "#fdfdfb", "#ffffff"
ACCENT, RIGHT, WRONG, BAD = "#0b66a3", "#2c82be", "#de6a20", "#b3261e"
# Okabe and Ito's palette, distinct for every common kind of colour vision, darkened for paper.
PALETTE = ("#0069a8", "#c8560a", "#00805c", "#a8497f", "#8a6d00", "#3f87b5")

DECISION_CURVE = "decision_curve"
"""Name of the report's figure of net benefits."""

TREAT_ALL = "treat_all"
"""In it, the layer that has the net benefit of deciding all examples as positive."""

_PLAIN: Mapping[str, Any] = {}

# The dashed line that a chart's curves are compared with.
GUIDE: dict[str, Any] = {"color": MUTED, "strokeDash": [3, 4], "strokeWidth": 1}

_VARIABLES = {
    **{INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"},
    **{ACCENT: "accent", RIGHT: "right", WRONG: "wrong", BAD: "bad"},
    **{colour: f"s{number}" for number, colour in enumerate(PALETTE, start=1)},
}
_CONFIG = {
    # Shapes need no words of their own: the description names the whole chart.
    "aria": False,
    "background": None,
    "font": "sans-serif",
    "padding": 2,
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "labelFontSize": 11,
        "labelPadding": 5,
        "titleColor": MUTED,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "gridColor": GRID,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "tickSize": 4,
    },
    "axisX": {"grid": False, "titleAlign": "right", "titleAnchor": "end"},
    "axisY": {
        "domain": False,
        "ticks": False,
        "minExtent": 44,
        "titleAngle": 0,
        "titleAlign": "left",
        "titleBaseline": "bottom",
        "titleX": -44,
        "titleY": -6,
    },
    "line": {"strokeWidth": 2, "strokeJoin": "round", "strokeCap": "round"},
    "text": {"color": INK, "fontSize": 12},
    "legend": {
        "orient": "bottom",
        "title": None,
        "columns": 2,
        # Readers' fonts are wider than the one that the drawing was measured with.
        "columnPadding": 34,
        "symbolType": "stroke",
        "symbolSize": 300,
        "symbolStrokeWidth": 2.5,
        "labelColor": MUTED,
        "labelFontSize": 11.5,
        "labelLimit": 230,
        "offset": 8,
    },
}
# An attribute that holds coordinates, and decimals that no screen shows.
_PLACES = re.compile(r' (?:d|transform)="[^"]*"')
_DECIMALS = re.compile(r"(\.\d)\d+")
_COLOUR = re.compile(r'(fill|stroke)="(#[0-9a-f]{6})"')
_ROOT = re.compile(r'<svg[^>]* width="([\d.]+)"[^>]* viewBox="([^"]*)"[^>]*>')


def chart(
    layers: Iterable[Mapping[str, Any]],
    description: str,
    *,
    width: int | Mapping[str, int],
    height: int | Mapping[str, int],
    rows: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """A specification of layers on common axes.

    description: for readers who do not see it. width, height: of the plot in pixels, or {"step": of
    a category}. rows: what the figure is of, the data of the layers that have none of their own;
    every number is finite.
    """
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": description,
        "width": width,
        "height": height,
        "config": _CONFIG,
        "data": {"values": rows},
        "layer": list(layers),
    }


def layer(
    mark: str,
    encoding: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]] | None = None,
    *,
    where: str = "",
    **look: Any,
) -> dict[str, Any]:
    """Marks of one type. rows: their data, None: the chart's. where: an expression of Vega that the
    drawn rows fulfil. look: properties of the mark.
    """
    data = {} if rows is None else {"data": {"values": rows}}
    filtered = {"transform": [{"filter": where}]} if where else {}
    return {**data, **filtered, "mark": {"type": mark, **look}, "encoding": encoding}


def number(
    field: str, title: str | None = None, *, axis: Axis = _PLAIN, **scale: Any
) -> dict[str, Any]:
    """The channel of a number. axis, scale: their properties in Vega-Lite; axis None: has none."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "axis": axis,
        "scale": {"zero": False, "nice": False, **scale},
    }


def name(
    field: str, title: str | None = None, *, axis: Axis = _PLAIN, **scale: Any
) -> dict[str, Any]:
    """The channel of a category, in the order of the rows or of scale's domain."""
    return {
        "field": field,
        "type": "nominal",
        "sort": None,
        "title": title,
        "axis": axis,
        **({"scale": scale} if scale else {}),
    }


def given(field: str) -> dict[str, Any]:
    """The channel of a colour, an opacity or a width that stands in the rows as it is drawn."""
    return {"field": field, "type": "nominal", "scale": None, "legend": None}


def inlined(svg: str, description: str) -> str:
    """A drawing as an element of an HTML page that has the colours as CSS variables.

    It is a fifth wider than it was drawn; CSS makes it smaller where a page has less room.
    """
    svg = _PLACES.sub(lambda found: _DECIMALS.sub(r"\1", found[0]), svg)
    svg = _COLOUR.sub(
        lambda f: f'{f[1]}="var(--{_VARIABLES[f[2]]})"' if f[2] in _VARIABLES else f[0], svg
    )
    return _ROOT.sub(
        lambda root: (
            f'<svg class="chart" width="{1.2 * float(root[1]):.0f}" '
            f'viewBox="{root[2]}" role="img" aria-label="{html.escape(description)}">'
        ),
        svg,
        count=1,
    )
