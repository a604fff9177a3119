"""ROC curves: how well contenders order the examples, whatever their threshold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.comparison.outcome import ClassOutcome
from trainer.report.contenders import ContenderStyle
from trainer.report.planes import Line, Plane, axes, polyline
from trainer.report.scales import Scale
from trellis_contracts.tasks import MULTILABEL

WIDTH, HEIGHT = 490, 400
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
    """left: one curve per contender. right: its upper left corner, or the winner's classes.

    many: curves are means over the classes. sets: of a multi-label task. shown, left_out: styles of
    the contenders with a curve, and the number of those without.
    """

    left: Plane
    right: Plane | None
    right_title: str
    many: bool
    sets: bool
    positive: str
    shown: Sequence[ContenderStyle]
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
    right, title = None, ""
    if many and len(classes) <= CLASSES_APART:
        right, title = _classes(first, classes), "The winner, by class"
    elif max(areas.values()) > _CORNER_FROM:
        right, title = _plane(curves, areas, shown, _CORNER), "Upper left corner"
    return Roc(
        left=_plane(curves, areas, shown, 1.0),
        right=right,
        right_title=title,
        many=many,
        sets=sets,
        positive=classes[1] if not many else "",
        shown=shown,
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


def _plane(
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    areas: Mapping[str, float],
    styles: Sequence[ContenderStyle],
    side: float,
) -> Plane:
    """The square of that side in the upper left corner."""
    x, y = axes(WIDTH, HEIGHT, (0, side), (1 - side, 1))
    lines = []
    for contender in reversed(styles):  # the winner over the others
        xs, ys = _within(*curves[contender.name], side)
        if len(xs):
            title = f"{contender.name}: area {areas[contender.name]:.4f}"
            lines.append(Line(polyline(xs, ys, x, y), contender.style, title))
    return _roc(x, y, lines, polyline([0, 1], [0, 1], x, y) if side == 1 else "")


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


def _classes(outcome: ClassOutcome, classes: Sequence[str]) -> Plane:
    x, y = axes(WIDTH, HEIGHT, (0, 1), (0, 1))
    lines = []
    for c in mixed_classes(outcome):
        fpr, tpr, _ = sklearn_metrics.roc_curve(outcome.examples_of(c), outcome.probabilities[:, c])
        title = f"{classes[c]}: area {sklearn_metrics.auc(fpr, tpr):.4f}"
        lines.append(Line(polyline(fpr, tpr, x, y), "plain", title))
    return _roc(x, y, lines, polyline([0, 1], [0, 1], x, y))


def _roc(x: Scale, y: Scale, lines: list[Line], guide: str) -> Plane:
    """Curves over two axes of rates. guide: what chance alone would draw."""
    return Plane(
        width=WIDTH,
        height=HEIGHT,
        x_ticks=x.ticks(5),
        y_ticks=y.ticks(5),
        x_title="false positive rate",
        y_title="true positive rate",
        guide=guide,
        lines=lines,
    )
