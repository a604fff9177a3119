"""Learning curves of the full trainings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer.comparison.run import Contender
from trainer.report.charts import CurveChart, Series, colour, curve_chart, finite_points

_WIDTH, _HEIGHT = 490, 260


@dataclass(frozen=True)
class LearningCurves:
    """One training's charts: the loss, and the metric it was tuned for unless that is the loss."""

    name: str
    best_epoch: int | None
    loss: CurveChart | None
    metric: CurveChart | None


def learning_curves(contenders: Sequence[Contender]) -> list[LearningCurves]:
    """Charts of every training that left epochs, all losses on one scale and all metrics on one."""
    trained = [contender for contender in contenders if contender.training.get("history")]
    longest = max((len(contender.training["history"]) for contender in trained), default=0)
    metric = next((c.training["metric"] for c in trained if c.training.get("metric")), "accuracy")
    names = ["loss", metric] if metric != "loss" else ["loss"]
    ranges = {name: _values(trained, name) for name in names}
    curves = []
    for contender in trained:
        style = colour(contenders.index(contender) + 1)
        charts = {
            name: _chart(contender.training, name, style, ranges[name], longest) for name in names
        }
        curves.append(
            LearningCurves(
                name=contender.name,
                best_epoch=contender.training.get("best_epoch"),
                loss=charts["loss"],
                metric=charts[metric] if metric != "loss" else None,
            )
        )
    return curves


def _values(contenders: Sequence[Contender], name: str) -> list[float]:
    return [
        value
        for contender in contenders
        for key in (name, f"val_{name}")
        for _, value in finite_points(contender.training["history"], key)
    ]


def _chart(
    training: Mapping, name: str, style: str, values: Sequence[float], epochs: int
) -> CurveChart | None:
    history, best = training["history"], training.get("best_epoch")
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
        markers={best: f"best epoch {best}"} if best else {},
    )
