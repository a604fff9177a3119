"""Precision-recall curves: of those taken for a class, how many are right, the more are found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.metrics import chance
from trainer.metrics.outcome import ClassOutcome
from trainer.report.contenders import ContenderStyle
from trainer.report.curves import Curve, curve_chart
from trainer.report.discrimination import CLASSES_APART, affordable, mixed_classes
from trellis_contracts.tasks import MULTILABEL

# Recalls at which the curves of many classes are averaged.
_GRID = np.linspace(0, 1, 201)[1:]


@dataclass(frozen=True)
class PrecisionRecall:
    """Charts by name: precision_recall has one curve per contender, precision_recall_by_class, if
    there are many, the winner's classes.

    chance: precision of an order at random, the dashed line: the share of the positive class; of
    many classes their mean. positive: of two classes the one that is meant.
    """

    figures: Mapping[str, dict[str, Any]]
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
    shown = affordable(styles, first)
    curves = {
        k.name: _curve(outcomes[k.name]) for k in reversed(shown)
    }  # the winner over the others
    chart = _chart(curves, "precision-recall curve of every contender", shown, at_random)
    figures = {"precision_recall": chart}
    if many and len(classes) <= CLASSES_APART:
        of_classes = {classes[c]: _steps(first, c) for c in mixed_classes(first)}
        chart = _chart(of_classes, "precision-recall curve of the winner, by class")
        figures["precision_recall_by_class"] = chart
    return PrecisionRecall(
        figures=figures,
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


def _chart(
    curves: Mapping[str, Curve],
    what: str,
    styles: Sequence[ContenderStyle] = (),
    at_random: float | None = None,
) -> dict[str, Any]:
    listed = "; ".join(
        f"{name}: area {np.trapezoid(precision, recall):.4f}"
        for name, (recall, precision) in curves.items()
    )
    return curve_chart(
        curves,
        f"{what}: {listed}",
        titles=("recall", "precision"),
        styles=styles,
        guide=None if at_random is None else ((0, at_random), (1, at_random)),
    )
