"""The tuning section: every trial with its state, and the best values found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.comparison.run_folder import Trial, Tuning
from trainer.report.axes import axis, scale
from trainer.report.contenders import colour
from trainer.report.numbers import finite_points, is_number, text
from trellis_contracts.charts import BAD, MUTED, PAPER, chart, given, layer, number

_WIDTH, _HEIGHT = 430, 230

# Vertex AI's trial states (Trial.State), in words.
_STATES = {
    "SUCCEEDED": "succeeded",
    "INFEASIBLE": "failed",
    "STOPPED": "stopped early",
    "STOPPING": "stopped early",
}


@dataclass(frozen=True)
class Row:
    """One trial in the table. best: its value is the best of all."""

    id: str
    rank: int | None
    state: str
    parameters: Sequence[str]
    value: float | None
    step: int | None
    epochs: int
    best: bool


@dataclass(frozen=True)
class TuningSection:
    """The template's data on a tuning job.

    figures: by name, if a trial has anything to draw. trials/MODEL: every trial by epoch;
    search/MODEL: value of each trial, and the best so far.
    """

    metric: str
    goal: str
    states: Sequence[tuple[str, int]]
    varied: Sequence[str]
    fixed: Sequence[tuple[str, str]]
    rows: Sequence[Row]
    figures: Mapping[str, dict[str, Any]]


def tuning_section(model: str, tuning: Tuning) -> TuningSection:
    """Lay out the trials of a model's tuning job."""
    trials = tuning.trials
    varied, fixed = hyperparameters(trials)
    states = [_state(trial) for trial in trials]
    sign = 1 if tuning.goal == "maximize" else -1
    best = max(measured(trials), key=lambda trial: sign * trial.score, default=None)
    return TuningSection(
        metric=tuning.metric,
        goal=tuning.goal,
        states=[(state, states.count(state)) for state in dict.fromkeys(states)],
        varied=varied,
        fixed=[(name, text(value)) for name, value in fixed.items()],
        rows=_rows(tuning, varied, best),
        figures={
            f"{name}/{model}": figure
            for name, figure in (("trials", _curves(tuning)), ("search", _history(tuning)))
            if figure
        },
    )


def _state(trial: Trial) -> str:
    return _STATES.get(trial.state, trial.state.lower())


def hyperparameters(trials: Sequence[Trial]) -> tuple[list[str], dict[str, object]]:
    """Names of the hyperparameters that differ between trials, and values of those that do not."""
    names = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
    values = {name: [t.parameters[name] for t in trials if name in t.parameters] for name in names}
    varied = [name for name in names if len(set(values[name])) > 1]
    return varied, {name: values[name][0] for name in names if name not in varied}


def measured(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that the tuner took a value of."""
    return [trial for trial in trials if is_number(trial.value)]


def look(trial: Trial) -> dict[str, str]:
    """Colours of a trial's dot; a chosen one has the colour of its full training's curves."""
    if trial.rank is not None:
        return {"fill": colour(trial.rank), "stroke": PAPER}
    return {"fill": PAPER, "stroke": MUTED} if _stopped(trial) else {"fill": MUTED, "stroke": PAPER}


def _stopped(trial: Trial) -> bool:
    return _state(trial) == _STATES["STOPPED"]


def dots(x: Any, y: Any, where: str = "") -> dict[str, Any]:
    """The layer of trials as dots, whose rows have their colours as `look` gives them."""
    encoding = {"x": x, "y": y, "fill": given("fill"), "stroke": given("stroke")}
    look: dict[str, Any] = {"shape": "circle", "size": 80, "strokeWidth": 1.5, "opacity": 1}
    return layer("point", encoding, where=where, **look)


def chosen_last(trials: Sequence[Trial]) -> list[Trial]:
    """Drawing order: what matters most is drawn over the rest."""
    return sorted(trials, key=lambda trial: (trial.rank is not None, -(trial.rank or 0)))


def _rows(tuning: Tuning, varied: Sequence[str], best: Trial | None) -> list[Row]:
    return [
        Row(
            id=trial.id,
            rank=trial.rank,
            state=_state(trial),
            parameters=[text(trial.parameters.get(name, "")) for name in varied],
            value=trial.value,
            step=trial.step,
            epochs=len(trial.history),
            best=trial is best,
        )
        for trial in tuning.trials
    ]


def _curves(tuning: Tuning) -> dict[str, Any] | None:
    points = {t.id: finite_points(t.history, f"val_{tuning.metric}") for t in tuning.trials}
    drawn = [trial for trial in chosen_last(tuning.trials) if points[trial.id]]
    if not drawn:
        return None
    rows: list[dict[str, Any]] = [
        {
            "trial": f"trial {trial.id}",
            "chosen": trial.rank is not None,
            "epoch": epoch,
            "value": value,
        }
        for trial in drawn
        for epoch, value in points[trial.id]
    ]
    shown = scale([row["value"] for row in rows])
    logarithmic = " (log scale)" if shown.get("type") == "log" else ""
    epochs = scale([row["epoch"] for row in rows], logarithmic=False, room=3)
    x = number("epoch", "epoch", axis=axis({}, 8, whole=True), **epochs)
    title = f"validation {tuning.metric}{logarithmic}"
    y = number("value", title, axis=axis(shown, 5), **shown)
    chosen = sorted((t for t in drawn if t.rank is not None), key=lambda trial: trial.rank or 0)
    colours = {f"trial {trial.id}": colour(trial.rank or 1) for trial in chosen}
    scales = {"domain": list(colours), "range": list(colours.values())}
    by_trial = {"field": "trial", "type": "nominal"}
    faint: dict[str, Any] = {"color": MUTED, "strokeWidth": 1.3, "opacity": 0.55}
    place = {"x": x, "y": y}
    layers = [layer("line", {**place, "detail": by_trial}, where="!datum.chosen", **faint)]
    if chosen:
        tinted = {**place, "color": {**by_trial, "scale": scales}}
        layers.append(layer("line", tinted, where="datum.chosen"))
    description = f"validation {tuning.metric} of every trial by epoch"
    return chart(layers, description, width=_WIDTH, height=_HEIGHT, rows=rows)


def _history(tuning: Tuning) -> dict[str, Any] | None:
    """Value by trial, with the best so far as a staircase; failed trials sit on the floor."""
    valued = measured(tuning.trials)
    if not valued:
        return None
    sign = 1 if tuning.goal == "maximize" else -1
    best: float | None = None
    rows: list[dict[str, Any]] = []
    for place, trial in enumerate(tuning.trials, start=1):
        if is_number(trial.value) and (best is None or sign * trial.value > sign * best):
            best = trial.value
        value = trial.value if is_number(trial.value) else None
        rows.append(
            {"place": place, "value": value, "best": best, "trial": trial.id, **look(trial)}
        )
    shown = scale([trial.score for trial in valued], logarithmic=False, room=16)
    x = number("place", "trial", domain=[0.4, len(rows) + 0.6], axis=axis({}, 8, whole=True))
    y = number("value", f"validation {tuning.metric}", axis={"tickCount": 5}, **shown)
    steps = {"x": x, "y": {**y, "field": "best"}}
    stairs: dict[str, Any] = {"color": MUTED, "strokeWidth": 1.3, "interpolate": "step-after"}
    layers = [
        layer("line", steps, where="isValid(datum.best)", **stairs),
        dots(x, y, where="isValid(datum.value)"),
    ]
    if len(valued) < len(rows):
        shape = "M-1,-1L1,1M1,-1L-1,1"
        cross: dict[str, Any] = {"shape": shape, "filled": False, "stroke": BAD, "strokeWidth": 2}
        floor = {"x": x, "y": {"value": _HEIGHT - 6}}
        none = "!isValid(datum.value)"
        layers.append(layer("point", floor, where=none, size=16, opacity=1, **cross))
    description = "value of every trial and the best so far"
    return chart(layers, description, width=_WIDTH, height=_HEIGHT, rows=rows)
