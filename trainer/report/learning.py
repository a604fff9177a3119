"""Learning curves of the full trainings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.comparison.run_folder import Contender
from trainer.report.charts import CurveChart, Series, colour, curve_chart, finite_points

_WIDTH, _HEIGHT = 490, 260


@dataclass(frozen=True)
class LearningCurves:
    """One training's charts: the loss, and the metric it was tuned for unless that is the loss."""

    name: str
    best_epoch: int
    loss: CurveChart | None
    metric: CurveChart | None


def learning_curves(contenders: Sequence[Contender]) -> list[LearningCurves]:
    """Charts of every training with epochs: all losses on one scale, all metrics on another."""
    trained = [(c.name, place, c.training) for place, c in enumerate(contenders, 1) if c.training]
    histories = [training["history"] for _, _, training in trained]
    longest = max(map(len, histories), default=0)
    metric = trained[0][2]["metric"] if trained else "accuracy"
    names = ["loss", metric] if metric != "loss" else ["loss"]
    ranges = {name: _values(histories, name) for name in names}
    curves = []
    for contender, place, training in trained:
        charts = {
            name: _chart(training, name, colour(place), ranges[name], longest) for name in names
        }
        curves.append(
            LearningCurves(
                name=contender,
                best_epoch=training["best_epoch"],
                loss=charts["loss"],
                metric=charts[metric] if metric != "loss" else None,
            )
        )
    return curves


def _values(histories: Sequence[Sequence[Mapping[str, float]]], name: str) -> list[float]:
    return [
        value
        for history in histories
        for key in (name, f"val_{name}")
        for _, value in finite_points(history, key)
    ]


def _chart(
    training: Mapping[str, Any], name: str, style: str, values: Sequence[float], epochs: int
) -> CurveChart | None:
    history, best = training["history"], training["best_epoch"]
    return curve_chart(
        [
            Series(finite_points(history, name), f"{style} dashed", f"train {name}"),
            Series(finite_points(history, f"val_{name}"), style, f"validation {name}"),
        ],
        width=_WIDTH,
        height=_HEIGHT,
        y_title=name,
        x_values=[1, epochs],
        y_values=values,
        markers={best: f"best epoch {best}"},
    )
