"""Confusion matrices: which classes are taken for which."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.metrics.outcome import Outcome
from trainer.report import pictures
from trellis_contracts.charts import INK, RIGHT, WHITE, WRONG, chart, layer, name

# Up to this many classes a matrix has numbers in its cells; beyond, it is a picture.
_CLASSES_WITH_NUMBERS = 20
_CLASSES_WITH_SHARES = 12
_LARGE, _MIDDLE, _SMALL = 520, 350, 256
# A matrix of so few classes needs no more than a middle size.
_FEW = 4
# In pixels: a letter of a class's name, and the longest name that is not cut.
_LETTER, _LONGEST = 6.5, 90
# A share above this is so strong a colour that white reads as well on it as ink does (contrast 3.9
# to 1 by WCAG; below, ink has more, up to 11 to 1); the weakest shown.
_STRONG, _WEAKEST = 0.95, 0.12


@dataclass(frozen=True)
class ConfusionMatrix:
    """A chart with true classes down, predicted classes across.

    contender: whose it is. numbers, shares: what stands in the cells; without numbers a cell's
    strength is the square root of its share of the true class.
    """

    contender: str
    figure: dict[str, Any]
    numbers: bool
    shares: bool


def counts_and_shares(outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
    """(c, c) counts, true classes down and predicted across, and their shares of the true class."""
    counts = sklearn_metrics.confusion_matrix(
        outcome.labels, outcome.predicted, labels=np.arange(outcome.class_count)
    )
    totals = counts.sum(axis=1, keepdims=True)
    return counts, np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)


def confusion_matrix(
    outcome: Outcome, classes: Sequence[str], contender: str, *, small: bool = False
) -> ConfusionMatrix:
    """Draw one contender's confusion matrix, large or as one of several."""
    counts, shares = counts_and_shares(outcome)
    c = len(classes)
    size = _SMALL if small else _MIDDLE if c <= _FEW else _LARGE
    numbers = c <= (_CLASSES_WITH_SHARES if small else _CLASSES_WITH_NUMBERS)
    with_shares = c <= (3 if small else _CLASSES_WITH_SHARES)
    x, y = _axes(classes, size)
    rows = [
        {
            "true": classes[i],
            "predicted": classes[j],
            "count": int(counts[i, j]),
            "share": round(float(shares[i, j]), 4),
        }
        for i, j in np.argwhere(counts)
    ]
    if numbers:
        font = round(min(max(size / c / 4, 9), 24), 1)
        layers = _cells(x, y, font, with_shares)
    else:
        whole = {"x": {"value": 0}, "x2": {"value": size}, "y": {"value": 0}, "y2": {"value": size}}
        picture = {"url": {"value": pictures.heatmap(shares)}}
        # The axes' marks are invisible.
        layers = [
            layer("point", {"x": x, "y": y}, rows[:1], opacity=0),
            layer("image", whole | picture, [{}], aspect=False, smooth=False),
        ]
    description = f"confusion matrix of {contender}, true classes down, predicted classes across"
    return ConfusionMatrix(
        contender=contender,
        figure=chart(layers, description, width=size, height=size, rows=rows),
        numbers=numbers,
        shares=with_shares,
    )


def _axes(classes: Sequence[str], size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    every = max(1, -(-len(classes) * 25 // size))
    longest = min(max(map(len, classes)) * _LETTER, _LONGEST)
    slanted = longest > size / len(classes) * every
    look: dict[str, Any] = {"domain": False, "ticks": False, "grid": False, "labelLimit": _LONGEST}
    look["values"] = list(classes[::every])
    scale = {"domain": list(classes), "paddingInner": 0.02, "paddingOuter": 0}
    across = {"orient": "top", "labelAngle": -50 if slanted else 0, "labelOverlap": False}
    titled = {"titleAnchor": "start", "titleAlign": "left"}
    down = {"titleAnchor": "start", "titleAlign": "right", "titleX": -8, "titleY": -8}
    return (
        name("predicted", "predicted →", axis=look | across | titled, **scale),
        name("true", "true ↓", axis=look | down, **scale),
    )


def _cells(x: Any, y: Any, font: float, with_shares: bool) -> list[dict[str, Any]]:
    right = {
        "condition": {"test": "datum.true === datum.predicted", "value": RIGHT},
        "value": WRONG,
    }
    opacity = {
        "field": "share",
        "type": "quantitative",
        "legend": None,
        "scale": {"domain": [0, _WEAKEST, 1], "range": [_WEAKEST, _WEAKEST, 1]},
    }
    on = {"condition": {"test": f"datum.share > {_STRONG}", "value": WHITE}, "value": INK}

    def words(field: str, shape: str, **look: Any) -> dict[str, Any]:
        text = {"field": field, "type": "quantitative", "format": shape}
        return layer("text", {"x": x, "y": y, "text": text, "color": on}, **look)

    layers = [
        layer("rect", {"x": x, "y": y, "color": right, "fillOpacity": opacity}, cornerRadius=2),
        words("count", ",", fontSize=font, dy=-0.3 * font if with_shares else 0),
    ]
    if with_shares:
        layers.append(words("share", ".0%", fontSize=0.75 * font, dy=0.7 * font))
    return layers
