"""The tuning section: every trial with its state, and the best values found."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.comparison.run_folder import Trial, Tuning
from trainer.report.charts import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    CurveChart,
    Mark,
    Points,
    Scatter,
    Series,
    colour,
    curve_chart,
    finite_points,
    sparklines,
)
from trainer.report.scales import Scale, is_number, text

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
    sparkline: str
    best: bool


@dataclass(frozen=True)
class TuningSection:
    """The template's data on a tuning job."""

    metric: str
    goal: str
    states: Sequence[tuple[str, int]]
    varied: Sequence[str]
    fixed: Sequence[tuple[str, str]]
    rows: Sequence[Row]
    curves: CurveChart | None
    history: Scatter | None


def tuning_section(tuning: Tuning) -> TuningSection:
    """Lay out a tuning job's trials."""
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
        curves=_curves(tuning),
        history=_history(tuning),
    )


def _state(trial: Trial) -> str:
    return _STATES.get(trial.state, trial.state.lower())


def _points(tuning: Tuning, trial: Trial) -> Points:
    return finite_points(trial.history, f"val_{tuning.metric}")


def hyperparameters(trials: Sequence[Trial]) -> tuple[list[str], dict[str, object]]:
    """Names of the hyperparameters that differ between trials, and values of those that do not."""
    names = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
    values = {name: [t.parameters[name] for t in trials if name in t.parameters] for name in names}
    varied = [name for name in names if len(set(values[name])) > 1]
    return varied, {name: values[name][0] for name in names if name not in varied}


def measured(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that the tuner took a value of."""
    return [trial for trial in trials if is_number(trial.value)]


def style(trial: Trial) -> str:
    """CSS classes of a trial; a chosen one has the colour of its full training's curves."""
    if trial.rank is not None:
        return f"chosen {colour(trial.rank)}"
    return {"failed": "bad", "stopped early": "stopped"}.get(_state(trial), "plain")


def title(trial: Trial) -> str:
    """A trial in one line, shown on hover."""
    settings = ", ".join(f"{name} {text(value)}" for name, value in trial.parameters.items())
    value = f"{trial.value:.4f}" if is_number(trial.value) else "no value"
    return f"trial {trial.id}: {value} ({_state(trial)}); {settings}"


def chosen_last(trials: Sequence[Trial]) -> list[Trial]:
    """Drawing order: what matters most is drawn over the rest."""
    return sorted(trials, key=lambda trial: (trial.rank is not None, -(trial.rank or 0)))


def _rows(tuning: Tuning, varied: Sequence[str], best: Trial | None) -> list[Row]:
    paths = sparklines([_points(tuning, trial) for trial in tuning.trials])
    return [
        Row(
            id=trial.id,
            rank=trial.rank,
            state=_state(trial),
            parameters=[text(trial.parameters.get(name, "")) for name in varied],
            value=trial.value,
            step=trial.step,
            epochs=len(trial.history),
            sparkline=path,
            best=trial is best,
        )
        for trial, path in zip(tuning.trials, paths, strict=True)
    ]


def _curves(tuning: Tuning) -> CurveChart | None:
    return curve_chart(
        [
            Series(
                _points(tuning, trial),
                style(trial),
                title(trial),
                f"trial {trial.id}" if trial.rank is not None else "",
            )
            for trial in chosen_last(tuning.trials)
        ],
        width=490,
        height=290,
        y_title=f"validation {tuning.metric}",
        room_for_names=46,
    )


def _history(tuning: Tuning) -> Scatter | None:
    """Value by trial, with the best so far as a staircase; failed trials sit on the floor."""
    valued = measured(tuning.trials)
    if not valued:
        return None
    width, height = 490, 290
    number = {trial.id: index for index, trial in enumerate(tuning.trials, start=1)}
    x = Scale(0.4, len(number) + 0.6, LEFT, width - RIGHT)
    y = Scale.around([t.score for t in valued], height - BOTTOM - 14, TOP, logarithmic=False)
    sign = 1 if tuning.goal == "maximize" else -1
    best: float | None = None
    steps: list[str] = []
    for trial in valued:
        at = x(number[trial.id])
        if best is None or sign * trial.score > sign * best:
            best = trial.score
            steps.append(f"{'H' if steps else 'M'}{at:g}{'V' if steps else ' '}{y(best):g}")
    marks = [
        Mark(
            x(number[trial.id]),
            y(trial.value) if is_number(trial.value) else height - BOTTOM - 6,
            style(trial) if is_number(trial.value) else "bad",
            title(trial),
        )
        for trial in tuning.trials
    ]
    return Scatter(
        width=width,
        height=height,
        x_ticks=x.ticks(8, integer=True),
        y_ticks=y.ticks(5),
        x_title="trial",
        y_title=f"validation {tuning.metric}",
        marks=marks,
        line="".join(steps) + f"H{x.end:g}",
    )
