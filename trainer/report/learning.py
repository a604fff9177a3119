"""Learning curves of the full trainings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.comparison.run_folder import Contender
from trainer.report.axes import axis, scale
from trainer.report.contenders import colour
from trainer.report.numbers import finite_points
from trellis_contracts import layout
from trellis_contracts.charts import GUIDE, chart, layer, number
from trellis_contracts.training import Training

_WIDTH, _HEIGHT = 430, 210


@dataclass(frozen=True)
class LearningCurves:
    """One training's charts by name: loss/TRAINING, and METRIC/TRAINING of the metric it was tuned
    for unless that is the loss. measures: the metric of each, in the same order.
    """

    training: str
    best_epoch: int
    figures: Mapping[str, dict[str, Any]]
    measures: Sequence[str]


def learning_curves(contenders: Sequence[Contender]) -> list[LearningCurves]:
    """Charts of every training with epochs: all losses on one scale, all metrics on another. An
    ensemble has none.
    """
    trained = [
        (c.name, place, c.training)
        for place, c in enumerate(contenders, 1)
        if c.training and c.name != layout.ENSEMBLE
    ]
    histories = [training.history for _, _, training in trained]
    longest = max(map(len, histories), default=0)
    metric = trained[0][2].metric if trained else "accuracy"
    names = ["loss", metric] if metric != "loss" else ["loss"]
    ranges = {name: _values(histories, name) for name in names}
    curves = []
    for contender, place, training in trained:
        measures = [name for name in names if _values([training.history], name)]
        figures = {
            f"{name}/{contender}": _chart(
                training, name, f"{contender}: {name}", colour(place), ranges[name], longest
            )
            for name in measures
        }
        curves.append(LearningCurves(contender, training.best_epoch, figures, measures))
    return curves


def _values(histories: Sequence[Sequence[Mapping[str, float]]], name: str) -> list[float]:
    return [
        value
        for history in histories
        for key in (name, f"val_{name}")
        for _, value in finite_points(history, key)
    ]


def _chart(
    training: Training,
    name: str,
    what: str,
    tint: str,
    values: Sequence[float],
    epochs: int,
) -> dict[str, Any]:
    history, best = training.history, training.best_epoch
    splits = {"train": name, "validation": f"val_{name}"}
    rows = [
        {"split": split, "epoch": epoch, "value": value}
        for split, key in splits.items()
        for epoch, value in finite_points(history, key)
    ]
    shown = scale(values)
    logarithmic = " (log scale)" if shown.get("type") == "log" else ""
    x = number(
        "epoch",
        "epoch",
        axis=axis({}, 8, whole=True),
        **scale([1, epochs], logarithmic=False, room=3),
    )
    y = number("value", name + logarithmic, axis=axis(shown, 5), **shown)
    dash = {
        "field": "split",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": list(splits), "range": [[2, 4], [1, 0]]},
    }
    width = {**dash, "scale": {"domain": list(splits), "range": [1.5, 2]}}
    layers = [layer("line", {"x": x, "y": y, "strokeDash": dash, "strokeWidth": width}, color=tint)]
    ending = ""
    if best:
        layers.insert(0, layer("rule", {"x": x}, [{"epoch": best}], **GUIDE))
        ending = f", best epoch {best}"
    description = f"{what} by epoch{ending}"
    return chart(layers, description, width=_WIDTH, height=_HEIGHT, rows=rows)
