"""Confusion matrices: which classes are taken for which."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.comparison.outcome import Outcome
from trainer.report import pictures
from trainer.report.scales import Tick

# Up to this many classes a matrix has numbers in its cells; beyond, it is a picture.
_CLASSES_WITH_NUMBERS = 20
_CLASSES_WITH_SHARES = 12
_LARGE, _MIDDLE, _SMALL = 600, 420, 320
# A matrix of so few classes needs no more than a middle size.
_FEW = 4
# Room for class names above and left of the matrix, and the width of a letter in them, in pixels.
_MARGINS = 36, 96
_LETTER = 6.5


@dataclass(frozen=True)
class Cell:
    """One pair of classes: count, and share of the true class's examples."""

    x: float
    y: float
    count: int
    share: float
    right: bool
    title: str


@dataclass(frozen=True)
class ConfusionMatrix:
    """True classes down, predicted classes across.

    name: whose it is, for a caption. size, margin, cell, font_size: in pixels. slanted: class names
    above the columns. cells: all pairs that occur, if there are few classes; else `picture`, a data
    URI.
    """

    name: str
    size: int
    margin: int
    cell: float
    ticks: Sequence[Tick]
    slanted: bool
    font_size: float
    cells: Sequence[Cell]
    with_shares: bool
    picture: str


def counts_and_shares(outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
    """(c, c) counts, true classes down and predicted across, and their shares of the true class."""
    counts = sklearn_metrics.confusion_matrix(
        outcome.labels, outcome.predicted, labels=np.arange(outcome.class_count)
    )
    totals = counts.sum(axis=1, keepdims=True)
    return counts, np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)


def confusion_matrix(
    outcome: Outcome, classes: Sequence[str], *, small: bool = False, name: str = ""
) -> ConfusionMatrix:
    """Lay out one contender's confusion matrix, large or as one of several."""
    counts, shares = counts_and_shares(outcome)
    c = len(classes)
    size = _SMALL if small else _MIDDLE if c <= _FEW else _LARGE
    numbers_up_to = _CLASSES_WITH_SHARES if small else _CLASSES_WITH_NUMBERS
    longest = max(map(len, classes)) * _LETTER
    margin = int(min(max(longest + 14, _MARGINS[0]), _MARGINS[1]))
    cell = (size - margin) / c
    with_numbers = c <= numbers_up_to
    every = max(1, -(-c * 25 // size))
    cells = []
    if with_numbers:
        cells = [
            Cell(
                x=round(margin + j * cell, 1),
                y=round(margin + i * cell, 1),
                count=int(counts[i, j]),
                share=round(float(shares[i, j]), 3),
                right=i == j,
                title=f"true {classes[i]}, predicted {classes[j]}: {counts[i, j]} "
                f"({shares[i, j]:.1%} of true {classes[i]})",
            )
            for i in range(c)
            for j in range(c)
            if counts[i, j]
        ]
    return ConfusionMatrix(
        name=name,
        size=size,
        margin=margin,
        cell=round(cell, 2),
        ticks=[Tick(round(margin + (i + 0.5) * cell, 1), classes[i]) for i in range(0, c, every)],
        slanted=longest > cell * every,
        font_size=round(min(max(cell / 4, 9), 24), 1),
        cells=cells,
        with_shares=c <= (3 if small else _CLASSES_WITH_SHARES),
        picture="" if with_numbers else pictures.heatmap(shares),
    )
