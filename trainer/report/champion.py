"""The champion in detail: which classes it confuses, and where it is surely wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.comparison.outcome import Outcome
from trainer.comparison.test_split import TestSplit
from trainer.dataset_description import Feature
from trainer.report import pictures
from trainer.report.scales import Tick

# Up to this many classes the confusion matrix has numbers in its cells; beyond, it is a picture.
_CLASSES_WITH_NUMBERS = 20
_CLASSES_WITH_SHARES = 12
_CONFUSIONS = 12
_EXAMPLES = 24
_MATRIX_SIZE = 600
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

    size, margin, cell, font_size: in pixels. slanted: class names above the columns.
    cells: all pairs that occur, if there are few classes; else `picture`, a data URI.
    """

    size: int
    margin: int
    cell: float
    ticks: Sequence[Tick]
    slanted: bool
    font_size: float
    cells: Sequence[Cell]
    with_shares: bool
    picture: str


@dataclass(frozen=True)
class Confusion:
    """A pair of classes that the champion mixes up."""

    true: str
    predicted: str
    count: int
    share: float


@dataclass(frozen=True)
class ClassScore:
    """One class's row: test examples, predictions, and scores (None where undefined)."""

    name: str
    examples: int
    predicted: int
    precision: float | None
    recall: float | None
    f1: float | None
    confused_with: str


@dataclass(frozen=True)
class Example:
    """One test example with what the champion made of it. picture: data URI or empty."""

    key: str
    true: str
    predicted: str
    confidence: float
    true_probability: float
    picture: str


@dataclass(frozen=True)
class ChampionSection:
    """Everything that the template shows of the champion. errors: number of wrong predictions.

    examples: its most confident mistakes; if it makes none, its least confident predictions.
    """

    errors: int
    examples_total: int
    matrix: ConfusionMatrix
    confusions: Sequence[Confusion]
    classes: Sequence[ClassScore]
    examples: Sequence[Example]
    pixelated: bool


def champion_section(
    outcome: Outcome, split: TestSplit, features: Sequence[Feature]
) -> ChampionSection:
    """Lay out the champion's predictions for the test split."""
    counts = sklearn_metrics.confusion_matrix(
        outcome.labels, outcome.predicted, labels=np.arange(outcome.class_count)
    )
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    image = next((feature for feature in features if feature.kind == "image"), None)
    return ChampionSection(
        errors=int(np.count_nonzero(~outcome.correct)),
        examples_total=len(split),
        matrix=_matrix(counts, shares, split.classes),
        confusions=_confusions(counts, shares, split.classes),
        classes=_class_scores(outcome, counts, split.classes),
        examples=_examples(outcome, split, image),
        pixelated=image is not None and max(image.shape[:2]) < 64,
    )


def _matrix(counts: np.ndarray, shares: np.ndarray, classes: Sequence[str]) -> ConfusionMatrix:
    c = len(classes)
    longest = max(map(len, classes)) * _LETTER
    margin = int(min(max(longest + 14, _MARGINS[0]), _MARGINS[1]))
    cell = (_MATRIX_SIZE - margin) / c
    with_numbers = c <= _CLASSES_WITH_NUMBERS
    every = max(1, -(-c // 24))
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
        size=_MATRIX_SIZE,
        margin=margin,
        cell=round(cell, 2),
        ticks=[Tick(round(margin + (i + 0.5) * cell, 1), classes[i]) for i in range(0, c, every)],
        slanted=longest > cell * every,
        font_size=round(min(max(cell / 4, 9), 24), 1),
        cells=cells,
        with_shares=c <= _CLASSES_WITH_SHARES,
        picture="" if with_numbers else pictures.heatmap(shares),
    )


def _confusions(counts: np.ndarray, shares: np.ndarray, classes: Sequence[str]) -> list[Confusion]:
    """The most frequent mistakes, ties by share and then in the order of the classes."""
    pairs = [(int(i), int(j)) for i, j in np.argwhere(counts) if i != j]
    pairs.sort(key=lambda pair: (-counts[pair], -shares[pair], pair))
    return [
        Confusion(classes[i], classes[j], int(counts[i, j]), float(shares[i, j]))
        for i, j in pairs[:_CONFUSIONS]
    ]


def _class_scores(outcome: Outcome, counts: np.ndarray, classes: Sequence[str]) -> list[ClassScore]:
    precision, recall, f1, examples = sklearn_metrics.precision_recall_fscore_support(
        outcome.labels,
        outcome.predicted,
        labels=np.arange(outcome.class_count),
        zero_division=np.nan,
    )
    wrong = counts * ~np.eye(len(classes), dtype=bool)
    rows = []
    for i, name in enumerate(classes):
        most = int(wrong[i].argmax())
        rows.append(
            ClassScore(
                name=name,
                examples=int(examples[i]),
                predicted=int(counts[:, i].sum()),
                precision=_defined(precision[i]),
                recall=_defined(recall[i]),
                f1=_defined(f1[i]),
                confused_with=f"{classes[most]} ({wrong[i, most]})" if wrong[i, most] else "",
            )
        )
    return rows


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _examples(outcome: Outcome, split: TestSplit, image: Feature | None) -> list[Example]:
    wrong = np.flatnonzero(~outcome.correct)
    if len(wrong):
        # Stable sorts: equal confidences stay in the order of the keys.
        chosen = wrong[np.argsort(-outcome.confidence[wrong], kind="stable")]
    else:
        chosen = np.argsort(outcome.confidence, kind="stable")
    return [
        Example(
            key=str(split.keys[i]),
            true=split.classes[outcome.labels[i]],
            predicted=split.classes[outcome.predicted[i]],
            confidence=float(outcome.confidence[i]),
            true_probability=float(outcome.probabilities[i, outcome.labels[i]]),
            picture=pictures.data_uri(split.feature(i, image.name), image.encoding)
            if image
            else "",
        )
        for i in chosen[:_EXAMPLES]
    ]
