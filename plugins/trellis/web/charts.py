"""Charts of the pages: an experiment's scores over time, and learning curves side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from trellis.results.curves import Curves
from trellis.results.history import Predicted
from trellis.results.live import Learner
from trellis.results.scores import score
from trellis.workflow.contracts.record import Result, RunRecord, Scored
from trellis_contracts.charts import (
    ACCENT,
    GUIDE,
    PALETTE,
    PAPER,
    VERSION,
    chart,
    inlined,
    layer,
    number,
)

WIDTH, HEIGHT = 720, 200
_NARROW, _STEP = 250, 60
"""Pixels of a figure of few runs, and of each run, up to WIDTH."""

MOST = 100
"""Runs that are drawn; older ones are in the list."""


@dataclass(frozen=True)
class History:
    """Scores of an experiment's winners and served models, oldest first, as a Vega-Lite figure.

    changes: how often a run has another dataset than the one before. left_out: runs whose primary
    metric is another one, or that are too old.
    """

    figure: Mapping[str, Any]
    metric: str
    goal: str
    changes: int
    left_out: int


def history(runs: Sequence[RunRecord]) -> History | None:
    """Chart of runs of one experiment, newest first; None if none has a result."""
    ended = [(run, run.result) for run in reversed(runs) if run.result]
    if not ended:
        return None
    newest = ended[-1][1]
    shown = [one for one in ended if one[1].metric == newest.metric][-MOST:]
    rows = [
        {
            "place": place,
            "run": run.folder,
            "value": found.value,
            "low": found.low,
            "high": found.high,
            "served": found == result.served,
            "label": _label(run, result, found),
        }
        for place, (run, result) in enumerate(shown, start=1)
        for found in _drawn(result)
    ]
    changes = [
        {"place": place - 0.5}
        for place, ((before, _), (run, _)) in enumerate(pairwise(shown), 2)
        if run.dataset != before.dataset
    ]
    first, last = (run.created[:10] for run in (shown[0][0], shown[-1][0]))
    described = (
        f"{newest.title} of the winners of {len(shown)} runs, and of what they put into service, "
        f"{_period(first, last)}; the list of runs has the numbers"
    )
    return History(
        figure=_history(
            rows, changes, len(shown), f"runs, {_period(first, last)}", newest.title, described
        ),
        metric=newest.title,
        goal=newest.goal,
        changes=len(changes),
        left_out=len(ended) - len(shown),
    )


def _history(
    rows: Sequence[Mapping[str, Any]],
    changes: Sequence[Mapping[str, float]],
    count: int,
    title: str,
    metric: str,
    description: str,
) -> dict[str, Any]:
    x = number("place", title, domain=[0.5, count + 0.5], axis={"labels": False, "ticks": False})
    # The axis encloses every interval, in round numbers.
    y = number("value", metric, axis={"tickCount": 5}, nice=True)
    whisker = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    point = {"x": x, "y": y}
    look: dict[str, Any] = {
        "shape": "circle",
        "size": 55,
        "stroke": ACCENT,
        "strokeWidth": 1.5,
        "opacity": 1,
    }
    layers = [
        layer("rule", whisker, color=ACCENT, strokeWidth=1.5, opacity=0.45),
        layer("point", point, where="!datum.served", fill=PAPER, **look),
        layer("point", point, where="datum.served", fill=ACCENT, **look),
    ]
    if changes:
        layers.insert(0, layer("rule", {"x": x}, changes, **GUIDE))
    # A few points fit a narrow screen, where a wide figure has them beyond its edge.
    width = min(WIDTH, max(_NARROW, _STEP * count))
    return chart(layers, description, width=width, height=HEIGHT, rows=rows)


def _period(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def performance(predictions: Sequence[Predicted]) -> dict[str, Any] | None:
    """Chart of what is served on labels that came later, filled, beside its score at promotion.

    predictions: newest first. Those of another metric than the newest's are left out. None if no
    labels have come.
    """
    known = [(one, one.later) for one in reversed(predictions) if one.later is not None]
    if not known:
        return None
    metric = known[-1][1].name
    shown = [(one, later) for one, later in known if later.name == metric][-MOST:]
    rows = []
    for place, (one, later) in enumerate(shown, start=1):
        ends = [(later, True), *([(one.promoted, False)] if one.promoted else [])]
        for score_, served in ends:
            what = "later labels" if served else "promotion"
            # Side by side: intervals of equal scores would hide each other.
            at = place + (0.12 if served else -0.12)
            rows.append(
                {
                    "place": at,
                    "run": one.record.run_id,
                    "value": score_.value,
                    "low": score_.low,
                    "high": score_.high,
                    "served": served,
                    "label": f"{one.record.run_id}: {score(score_, one.decimals)}, {what}",
                }
            )
    first, last = (one.record.at[:10] for one, _ in (shown[0], shown[-1]))
    described = (
        f"{shown[-1][0].title} of {len(shown)} batch predictions on labels that came later, and of "
        f"their models at promotion, {_period(first, last)}; the table has the numbers"
    )
    title = f"predictions, {_period(first, last)}"
    return _history(rows, [], len(shown), title, shown[-1][0].title, described)


def learning(curves: Curves) -> dict[str, Any]:
    """Learning curves on common axes, of the runs that have one."""
    drawn = [(place, curve) for place, curve in enumerate(curves.curves, 1) if curve]
    rows: list[dict[str, Any]] = []
    kept: list[dict[str, Any]] = []
    names: list[str] = []
    for place, curve in drawn:
        best = dict(curve.points).get(curve.best)
        ending = "" if best is None else f": {best:.4g} in epoch {curve.best}, which was kept"
        names.append(f"run {place}, {curve.training}{ending}")
        rows += [{"run": names[-1], "epoch": epoch, "value": at} for epoch, at in curve.points]
        if best is not None:
            kept.append({"run": names[-1], "epoch": curve.best, "value": best})
    # A run has the colour of its place; of two with one colour, the later is dashed.
    places = [place - 1 for place, _ in drawn]
    colours = [PALETTE[place % 4] for place in places]
    dashes = [[6, 4] if place >= 4 else [1, 0] for place in places]
    by_run = {"field": "run", "type": "nominal"}
    colour = {**by_run, "scale": {"domain": names, "range": colours}}
    dash = {**by_run, "scale": {"domain": names, "range": dashes}}
    epochs = max(row["epoch"] for row in rows)
    x = _epochs(epochs)
    y = number("value", curves.metric, axis={"tickCount": 5}, nice=True)
    colour["legend"] = dash["legend"] = {"columns": 1, "labelLimit": WIDTH}
    return chart(
        [
            layer("line", {"x": x, "y": y, "color": colour, "strokeDash": dash}),
            layer("circle", {"x": x, "y": y, "color": colour}, kept, size=60, opacity=1),
        ],
        f"{curves.metric} on the validation split by epoch, of {len(drawn)} trainings",
        width=WIDTH,
        height=HEIGHT,
        rows=rows,
    )


def underway(learners: Sequence[Learner]) -> dict[str, Any] | None:
    """The metric by epoch of trials and trainings that go on or have ended; None before the first
    epoch of any. Those of another metric than the last one's, of another model, are left out.
    """
    known = [learner for learner in learners if learner.points]
    if not known:
        return None
    metric = known[-1].metric
    shown = [learner for learner in known if learner.metric == metric]
    rows = [row for each in shown for row in _points(each)]
    x = _epochs(max(each.epoch for each in shown))
    y = number("value", metric, axis={"tickCount": 5}, nice=True)
    kinds = sorted({_KINDS[each.trial] for each in shown})
    scale = {"domain": kinds, "range": [PALETTE[place] for place in range(len(kinds))]}
    colour = {"field": "kind", "type": "nominal", "scale": scale}
    one = {"field": "name", "type": "nominal"}
    ends = [_points(each)[-1] for each in shown]
    return chart(
        [
            layer("line", {"x": x, "y": y, "color": colour, "detail": one}, opacity=0.7),
            layer("circle", {"x": x, "y": y, "color": colour}, ends, size=45, opacity=1),
        ],
        f"{metric} on the validation split by epoch, of {len(shown)} trials and trainings",
        width=WIDTH,
        height=HEIGHT,
        rows=rows,
    )


def _epochs(last: int) -> dict[str, Any]:
    """The axis of epochs, whose ticks are whole numbers also where there are few."""
    last = max(last, 2)
    ticks: dict[str, Any] = {"values": [*range(1, last + 1)]} if last <= 10 else {"tickMinStep": 1}
    return number("epoch", "epoch", domain=[1, last], padding=6, axis={**ticks, "format": "d"})


_KINDS = {True: "trials", False: "trainings"}


def _points(learner: Learner) -> list[dict[str, Any]]:
    named = {"name": learner.name, "kind": _KINDS[learner.trial]}
    return [{**named, "epoch": epoch, "value": value} for epoch, value in learner.points]


def drawn(figure: Mapping[str, Any]) -> str:
    """An SVG element of the page. Vega escapes the texts, `inlined` the description."""
    # Where a page is shown, not where a DAG file is read: it takes memory, and time.
    try:
        import vl_convert
    except ImportError:  # in a plugins folder whose environment lacks it, the page goes on
        return '<p class="quiet">No drawing: vl-convert-python is not installed here.</p>'

    svg = vl_convert.vegalite_to_svg(dict(figure), vl_version=VERSION, allowed_base_urls=[])
    return inlined(svg, figure["description"])


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
