"""Hyperparameters against the metric: parallel coordinates, and one scatter plot for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer.comparison.run_folder import Trial, Tuning
from trainer.report.charts import BOTTOM, LEFT, RIGHT, TOP, Mark, Scatter
from trainer.report.scales import Scale, Tick, scale_for
from trainer.report.tuning import chosen_last, hyperparameters, measured, style, title

_SLICES_IN_A_ROW = 4


@dataclass(frozen=True)
class ParallelAxis:
    """One vertical axis of the parallel coordinates, at pixel x."""

    name: str
    x: float
    ticks: Sequence[Tick]


@dataclass(frozen=True)
class ParallelLine:
    """One trial's SVG path. style: CSS classes."""

    path: str
    style: str
    title: str
    opacity: float


@dataclass(frozen=True)
class Parallel:
    """Parallel coordinates: one axis per hyperparameter, the metric last, one line per trial."""

    width: int
    height: int
    top: float
    bottom: float
    axes: Sequence[ParallelAxis]
    lines: Sequence[ParallelLine]


@dataclass(frozen=True)
class HyperparameterSection:
    """Hyperparameters and their effect. `slices`: one scatter plot for each."""

    parallel: Parallel
    slices: Sequence[Scatter]
    in_a_row: int


def hyperparameter_section(
    tuning: Tuning, search: Mapping[str, object]
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
    return HyperparameterSection(
        parallel=_parallel(tuning, trials, logarithmic),
        slices=[_slice(trials, name, logarithmic[name], 1000 // in_a_row - 10) for name in varied],
        in_a_row=in_a_row,
    )


def _is_logarithmic(searched: object) -> bool | None:
    """Return whether the search was logarithmic; None if this hyperparameter was not searched."""
    return searched.get("scale") == "log" if isinstance(searched, Mapping) else None


def _parallel(
    tuning: Tuning, trials: Sequence[Trial], logarithmic: Mapping[str, bool | None]
) -> Parallel:
    width, height, top, margin = 1000, 330, 44.0, 60.0
    bottom = height - 16.0
    columns = [[trial.parameters[name] for trial in trials] for name in logarithmic]
    scales = [
        scale_for(column, bottom, top, is_log)
        for column, is_log in zip(columns, logarithmic.values(), strict=True)
    ]
    columns.append([trial.score for trial in trials])
    scales.append(Scale.around(columns[-1], bottom, top, logarithmic=False))
    gap = (width - 2 * margin) / (len(columns) - 1)
    places = [round(margin + gap * index, 1) for index in range(len(columns))]
    axes = [
        ParallelAxis(name, x, scale.ticks(5))
        for name, x, scale in zip([*logarithmic, tuning.metric], places, scales, strict=True)
    ]
    sign = 1 if tuning.goal == "maximize" else -1
    from_worst = sorted(range(len(trials)), key=lambda i: sign * trials[i].score)
    lines = []
    for place, i in enumerate(from_worst):
        heights = [scale(column[i]) for scale, column in zip(scales, columns, strict=True)]
        faint = round(0.25 + 0.45 * place / len(trials), 2)
        lines.append(
            ParallelLine(
                path=_ribbon(places, heights),
                style=style(trials[i]),
                title=title(trials[i]),
                opacity=faint if trials[i].rank is None else 1.0,
            )
        )
    lines.sort(key=lambda line: line.opacity)
    return Parallel(width, height, top, bottom, axes, lines)


def _ribbon(xs: Sequence[float], ys: Sequence[float]) -> str:
    """A path through the points that leaves and enters every axis at a right angle."""
    path = f"M{xs[0]:g} {ys[0]:g}"
    for x0, x1, y0, y1 in zip(xs, xs[1:], ys, ys[1:], strict=False):
        bend = (x1 - x0) * 0.4
        path += f"C{x0 + bend:g} {y0:g} {x1 - bend:g} {y1:g} {x1:g} {y1:g}"
    return path


def _slice(trials: Sequence[Trial], name: str, is_log: bool | None, width: int) -> Scatter:
    """One hyperparameter's values against the metric."""
    height = 220
    x = scale_for([t.parameters[name] for t in trials], LEFT, width - RIGHT, is_log)
    y = Scale.around([t.score for t in trials], height - BOTTOM, TOP, logarithmic=False)
    return Scatter(
        width=width,
        height=height,
        x_ticks=x.ticks(4),
        y_ticks=y.ticks(4),
        x_title=name + (" (log scale)" if isinstance(x, Scale) and x.logarithmic else ""),
        y_title="",
        marks=[
            Mark(x(t.parameters[name]), y(t.score), style(t), title(t)) for t in chosen_last(trials)
        ],
    )
