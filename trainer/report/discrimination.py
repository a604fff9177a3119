"""ROC curves: how well contenders order the examples, whatever their threshold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.metrics.outcome import ClassOutcome
from trainer.report.contenders import ContenderStyle
from trainer.report.curves import Curve, curve_chart
from trellis_contracts.tasks import MULTILABEL

# False positive rates at which the curves of many classes are averaged.
_GRID = np.linspace(0, 1, 201)
# Above this AUC, all differences are in the upper left corner.
_CORNER_FROM = 0.85
_CORNER = 0.25
CLASSES_APART = 12
# Examples times classes times contenders that are sorted at most, about three seconds.
_AFFORDED = 2**24


@dataclass(frozen=True)
class Roc:
    """Charts by name: roc has one curve per contender, roc_corner enlarges its upper left corner,
    roc_by_class has the winner's classes.

    many: curves are means over the classes. sets: of a multi-label task. left_out: number of
    contenders without a curve.
    """

    figures: Mapping[str, dict[str, Any]]
    many: bool
    sets: bool
    positive: str
    left_out: int


def roc_section(
    outcomes: Mapping[str, ClassOutcome], styles: Sequence[ContenderStyle], classes: Sequence[str]
) -> Roc | None:
    """Lay out the curves; None if the test split holds one class only."""
    first = outcomes[styles[0].name]
    if not mixed_classes(first):
        return None
    sets = first.family == MULTILABEL
    many = len(classes) > 2 or sets
    shown = affordable(styles, first)
    curves = {contender.name: _curve(outcomes[contender.name]) for contender in shown}
    areas = {name: float(np.trapezoid(ys, xs)) for name, (xs, ys) in curves.items()}
    figures = {"roc": _contenders(curves, areas, shown, 1.0)}
    if many and len(classes) <= CLASSES_APART:
        figures["roc_by_class"] = _classes(first, classes)
    elif max(areas.values()) > _CORNER_FROM:
        figures["roc_corner"] = _contenders(curves, areas, shown, _CORNER)
    return Roc(
        figures=figures,
        many=many,
        sets=sets,
        positive=classes[1] if not many else "",
        left_out=len(styles) - len(shown),
    )


def affordable(styles: Sequence[ContenderStyle], outcome: ClassOutcome) -> Sequence[ContenderStyle]:
    """Take as many contenders as there is time to sort the examples of."""
    return styles[: max(1, _AFFORDED // (len(outcome.labels) * len(outcome.ranked_classes)))]


def mixed_classes(outcome: ClassOutcome) -> list[int]:
    """The classes that some but not all examples have."""
    examples = len(outcome.labels)
    return [c for c in outcome.ranked_classes if 0 < outcome.class_totals[c] < examples]


def _curve(outcome: ClassOutcome) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rates; of many classes their mean over the classes."""
    curves = [
        sklearn_metrics.roc_curve(outcome.examples_of(c), outcome.probabilities[:, c])[:2]
        for c in mixed_classes(outcome)
    ]
    if len(curves) == 1:
        return curves[0]
    mean = np.mean([np.interp(_GRID, fpr, tpr) for fpr, tpr in curves], axis=0)
    return np.concatenate([[0], _GRID]), np.concatenate([[0], mean])


def _contenders(
    curves: Mapping[str, Curve],
    areas: Mapping[str, float],
    styles: Sequence[ContenderStyle],
    side: float,
) -> dict[str, Any]:
    """The square of that side in the upper left corner."""
    shown = {}
    for contender in reversed(styles):  # the winner over the others
        xs, ys = _within(*curves[contender.name], side)
        if len(xs):
            shown[contender.name] = xs, ys
    part = "" if side == 1 else ", upper left corner"
    return _roc(shown, f"ROC curve of every contender{part}", areas, side, styles)


def _within(xs: np.ndarray, ys: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
    """The part of a rising curve in the upper left square, cut where it enters and leaves."""
    if side == 1:
        return xs, ys
    entry = np.searchsorted(ys, 1 - side)
    if entry >= len(ys) or xs[entry] > side:
        return np.array([]), np.array([])
    inside = (ys >= 1 - side) & (xs <= side)
    start = xs[entry]
    if entry and ys[entry] > ys[entry - 1]:
        share = (1 - side - ys[entry - 1]) / (ys[entry] - ys[entry - 1])
        start = xs[entry - 1] + share * (xs[entry] - xs[entry - 1])
    last = np.flatnonzero(inside)[-1]
    end = ys[last]
    if last + 1 < len(xs) and xs[last + 1] > xs[last]:
        share = (side - xs[last]) / (xs[last + 1] - xs[last])
        end = ys[last] + share * (ys[last + 1] - ys[last])
    return (
        np.concatenate([[start], xs[inside], [side]]),
        np.concatenate([[1 - side], ys[inside], [end]]),
    )


def _classes(outcome: ClassOutcome, classes: Sequence[str]) -> dict[str, Any]:
    curves = {}
    for c in mixed_classes(outcome):
        fpr, tpr, _ = sklearn_metrics.roc_curve(outcome.examples_of(c), outcome.probabilities[:, c])
        curves[classes[c]] = fpr, tpr
    areas = {name: float(sklearn_metrics.auc(*curve)) for name, curve in curves.items()}
    return _roc(curves, "ROC curve of the winner, by class", areas)


def _roc(
    curves: Mapping[str, Curve],
    what: str,
    areas: Mapping[str, float],
    side: float = 1.0,
    styles: Sequence[ContenderStyle] = (),
) -> dict[str, Any]:
    listed = "; ".join(f"{name}: area {areas[name]:.4f}" for name in curves)
    return curve_chart(
        curves,
        f"{what}: {listed}",
        titles=("false positive rate", "true positive rate"),
        ranges=((0, side), (1 - side, 1)),
        styles=styles,
        guide=((0, 0), (1, 1)) if side == 1 else None,
    )
