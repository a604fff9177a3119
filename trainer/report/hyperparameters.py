"""Hyperparameters against the metric: parallel coordinates, and one scatter plot for each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.comparison.run_folder import Trial, Tuning
from trainer.report.axes import axis, categories, scale
from trainer.report.numbers import text
from trainer.report.tuning import chosen_last, dots, hyperparameters, look, measured
from trellis_contracts.charts import INK, MUTED, PAPER, chart, given, layer, name, number

_SLICES_IN_A_ROW = 4
_WIDTH = 1000


@dataclass(frozen=True)
class HyperparameterSection:
    """Charts by name: hyperparameters/MODEL has parallel coordinates, one axis per hyperparameter,
    the metric last, one line per trial. slices: hyperparameters/MODEL/NAME, one hyperparameter's
    values against the metric each.
    """

    parallel: Mapping[str, dict[str, Any]]
    slices: Mapping[str, dict[str, Any]]
    in_a_row: int


def hyperparameter_section(
    model: str, tuning: Tuning, search: Mapping[str, object]
) -> HyperparameterSection | None:
    """Lay out the hyperparameters that differ between trials; None if there is nothing to compare.

    search: the experiment's search space, {name: {"scale": "log", ...}}: an axis is logarithmic if
    the search was.
    """
    varied, _ = hyperparameters(tuning.trials)
    trials = [
        trial
        for trial in measured(tuning.trials)
        if all(name in trial.parameters for name in varied)
    ]
    if len(trials) < 2 or not varied:
        return None
    logarithmic = {name: _is_logarithmic(search.get(name)) for name in varied}
    rows = -(-len(varied) // _SLICES_IN_A_ROW)
    in_a_row = max(2, -(-len(varied) // rows))  # so that all rows are about equally full
    of_model = f"hyperparameters/{model}"
    width = _WIDTH // in_a_row - 70
    return HyperparameterSection(
        parallel={of_model: _parallel(tuning, trials, logarithmic)},
        slices={
            f"{of_model}/{one}": _slice(trials, one, logarithmic[one], tuning.metric, width)
            for one in varied
        },
        in_a_row=in_a_row,
    )


def _is_logarithmic(searched: object) -> bool | None:
    """Return whether the search was logarithmic; None if this hyperparameter was not searched."""
    return searched.get("scale") == "log" if isinstance(searched, Mapping) else None


def _parallel(
    tuning: Tuning, trials: Sequence[Trial], logarithmic: Mapping[str, bool | None]
) -> dict[str, Any]:
    # By place: a metric may be named as a hyperparameter is.
    names = {str(place): one for place, one in enumerate([*logarithmic, tuning.metric])}
    columns: dict[str, list[Any]] = {
        key: [trial.parameters.get(one) for trial in trials] for key, one in names.items()
    }
    last = str(len(logarithmic))
    columns[last] = [trial.score for trial in trials]
    places, labels = {}, []
    for key, values in columns.items():
        is_log = False if key == last else logarithmic[names[key]]
        heights = _heights(values, is_log, names=key != last)
        places[key] = [heights[value] for value in values]
        ends = heights if categories(values) and key != last else (min(values), max(values))
        labels += [{"axis": key, "at": heights[v], "text": text(v)} for v in dict.fromkeys(ends)]
    sign = 1 if tuning.goal == "maximize" else -1
    from_worst = sorted(range(len(trials)), key=lambda i: sign * trials[i].score)
    rows: list[dict[str, Any]] = []
    for rank, i in enumerate(from_worst):
        chosen = trials[i].rank is not None
        faint = round(0.25 + 0.45 * rank / len(trials), 2)
        rows += [
            {
                "trial": trials[i].id,
                "axis": key,
                "name": names[key],
                "value": columns[key][i],
                "at": at[i],
                "colour": look(trials[i])["fill"] if chosen else MUTED,
                "opacity": 1 if chosen else faint,
                "width": 2 if chosen else 1.3,
            }
            for key, at in places.items()
        ]
    rows.sort(key=lambda row: row["opacity"])
    titles = [{"axis": key, "title": title} for key, title in names.items()]
    lines = {"orient": "top", "labels": False, "domain": False, "ticks": False, "grid": True}
    x = name("axis", axis={**lines, "gridColor": MUTED}, type="point", padding=0.3)
    y = {"field": "at", "type": "quantitative", "axis": None, "scale": {"domain": [0, 1]}}
    encoding = {
        "x": x,
        "y": y,
        "detail": {"field": "trial", "type": "nominal"},
        "color": given("colour"),
        "opacity": given("opacity"),
        "strokeWidth": given("width"),
    }
    words = {"x": x, "y": y, "text": {"field": "text"}}
    beside: dict[str, Any] = {"align": "left", "dx": 7, "fontSize": 11}
    halo: dict[str, Any] = {"stroke": PAPER, "strokeWidth": 4, "strokeJoin": "round"}
    above = {"x": x, "y": {"value": -14}, "text": {"field": "title"}}
    return chart(
        [
            layer("line", encoding, interpolate="monotone"),
            layer("text", words, labels, **beside, **halo),
            layer("text", words, labels, **beside, color=MUTED),
            layer("text", above, titles, color=INK, fontWeight="bold"),
        ],
        f"parallel coordinates of hyperparameters and {tuning.metric}",
        width=_WIDTH - 40,
        height=270,
        rows=rows,
    )


def _heights(values: Sequence[Any], is_log: bool | None, names: bool) -> dict[Any, float]:
    """Share of an axis' height at which each different value stands."""
    distinct = categories(values) if names else None
    if distinct:
        return {value: (place + 0.5) / len(distinct) for place, value in enumerate(distinct)}
    shown = scale(values, logarithmic=is_log)
    measure = math.log10 if shown.get("type") == "log" else float
    low, high = (measure(end) for end in shown["domain"])
    return {v: round(0.04 + 0.92 * (measure(v) - low) / (high - low), 4) for v in values}


def _slice(
    trials: Sequence[Trial], one: str, is_log: bool | None, metric: str, width: int
) -> dict[str, Any]:
    """One hyperparameter's values against the metric."""
    values = [trial.parameters[one] for trial in trials]
    rows: list[dict[str, Any]] = [
        {"x": trial.parameters[one], "value": trial.score, "trial": trial.id, **look(trial)}
        for trial in chosen_last(trials)
    ]
    if distinct := categories(values):
        for row in rows:
            row["x"] = text(row["x"])
        domain = [text(value) for value in distinct]
        x = name("x", one, axis={"labelAngle": 0}, type="point", padding=0.5, domain=domain)
    else:
        shown = scale(values, logarithmic=is_log)
        title = f"{one} (log scale)" if shown.get("type") == "log" else one
        x = number("x", title, axis=axis(shown, 4), **shown)
    scores = scale([trial.score for trial in trials], logarithmic=False)
    y = number("value", axis={"tickCount": 4}, **scores)
    description = f"{metric} over {x['title']}"
    return chart([dots(x, y)], description, width=width, height=170, rows=rows)
