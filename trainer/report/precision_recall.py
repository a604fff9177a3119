"""Precision-recall curves: of those taken for a class, how many are right, the more are found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.comparison import chance
from trainer.comparison.outcome import ClassOutcome
from trainer.report.contenders import ContenderStyle
from trainer.report.discrimination import CLASSES_APART, HEIGHT, WIDTH, affordable, mixed_classes
from trainer.report.planes import Line, Plane, axes, polyline
from trellis_contracts.tasks import MULTILABEL

# Recalls at which the curves of many classes are averaged.
_GRID = np.linspace(0, 1, 201)[1:]


@dataclass(frozen=True)
class PrecisionRecall:
    """left: one curve per contender. right: the winner's classes, if there are many.

    chance: precision of an order at random, the dashed line: the share of the positive class; of
    many classes their mean. positive: of two classes the one that is meant.
    """

    left: Plane
    right: Plane | None
    chance: float
    positive: str
    sets: bool


def precision_recall_section(
    outcomes: Mapping[str, ClassOutcome], styles: Sequence[ContenderStyle], classes: Sequence[str]
) -> PrecisionRecall | None:
    """Lay out the curves; None if the test split holds one class only."""
    first = outcomes[styles[0].name]
    if not mixed_classes(first):
        return None
    sets = first.family == MULTILABEL
    many = len(classes) > 2 or sets
    at_random = chance.mean_share(first)
    lines = []
    for contender in reversed(affordable(styles, first)):  # the winner over the others
        recall, precision = _curve(outcomes[contender.name])
        lines.append(((recall, precision), contender.style, contender.name))
    right = None
    if many and len(classes) <= CLASSES_APART:
        right = _plane(
            [(_steps(first, c), "plain", classes[c]) for c in mixed_classes(first)], None
        )
    return PrecisionRecall(
        left=_plane(lines, at_random),
        right=right,
        chance=at_random,
        positive="" if many else classes[1],
        sets=sets,
    )


def _steps(outcome: ClassOutcome, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Recall and precision of a class, such that the area below is the average precision."""
    precision, recall, _ = sklearn_metrics.precision_recall_curve(
        outcome.examples_of(index), outcome.probabilities[:, index]
    )
    # Rising recall; the first point, (0, 1), is no threshold's.
    recall, precision = recall[::-1], precision[::-1]
    return np.repeat(recall, 2)[1:-1], np.repeat(precision[1:], 2)


def _curve(outcome: ClassOutcome) -> tuple[np.ndarray, np.ndarray]:
    """Recall and precision; of many classes the mean precision at each recall."""
    curves = [_steps(outcome, c) for c in mixed_classes(outcome)]
    if len(curves) == 1:
        return curves[0]
    at = [precision[np.searchsorted(recall, _GRID)] for recall, precision in curves]
    return _GRID, np.mean(at, axis=0)


def _plane(
    curves: Sequence[tuple[tuple[np.ndarray, np.ndarray], str, str]], at_random: float | None
) -> Plane:
    x, y = axes(WIDTH, HEIGHT, (0, 1), (0, 1))
    return Plane(
        width=WIDTH,
        height=HEIGHT,
        x_ticks=x.ticks(5),
        y_ticks=y.ticks(5),
        x_title="recall",
        y_title="precision",
        guide="" if at_random is None else polyline([0, 1], [at_random, at_random], x, y),
        lines=[
            Line(
                polyline(recall, precision, x, y),
                style,
                f"{name}: area {np.trapezoid(precision, recall):.4f}",
            )
            for (recall, precision), style, name in curves
        ],
    )
