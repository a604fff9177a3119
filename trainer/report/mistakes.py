"""The winner in detail: the classes that it confuses, and its most confident mistakes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer.comparison.held_out_split import HeldOutSplit
from trainer.metrics.outcome import Outcome
from trainer.report import pictures
from trainer.report.confusion import ConfusionMatrix, confusion_matrix, counts_and_shares
from trainer.report.contenders import ContenderStyle
from trellis_contracts.dataset_features import Feature

_CONFUSIONS = 12
# Examples shown, with pictures and without.
_EXAMPLES = 24, 12
_OTHERS = 9


@dataclass(frozen=True)
class Confusion:
    """A pair of classes that the winner mixes up."""

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
    """A test example with the winner's prediction. picture: data URI or empty."""

    key: str
    true: str
    predicted: str
    confidence: float
    true_probability: float
    picture: str


@dataclass(frozen=True)
class MistakeSection:
    """The template's data on the winner's errors. errors: number of wrong predictions.

    threshold: the class that it predicts, of two, and above which probability; or empty. examples:
    its most confident mistakes; if it makes none, its least confident predictions.
    others: the other contenders' confusion matrices, left_out of them are not shown.
    """

    errors: int
    examples_total: int
    threshold: str
    matrix: ConfusionMatrix
    confusions: Sequence[Confusion]
    classes: Sequence[ClassScore]
    examples: Sequence[Example]
    pixelated: bool
    others: Sequence[ConfusionMatrix]
    left_out: int

    @property
    def figures(self) -> Mapping[str, dict[str, Any]]:
        """confusion/CONTENDER of each matrix."""
        return {f"confusion/{one.contender}": one.figure for one in (self.matrix, *self.others)}


def mistake_section(
    outcomes: Mapping[str, Outcome],
    styles: Sequence[ContenderStyle],
    split: HeldOutSplit,
    features: Sequence[Feature],
) -> MistakeSection:
    """Lay out the winner's predictions for the test split, and the others' matrices beside."""
    outcome = outcomes[styles[0].name]
    counts, shares = counts_and_shares(outcome)
    image = pictures.image_of(features)
    return MistakeSection(
        errors=int(np.count_nonzero(~outcome.correct)),
        examples_total=len(split),
        threshold=outcome.threshold.text(split.classes) if outcome.threshold else "",
        matrix=confusion_matrix(outcome, split.classes, styles[0].name),
        confusions=_confusions(counts, shares, split.classes),
        classes=_class_scores(outcome, counts, split.classes),
        examples=_examples(outcome, split, image),
        pixelated=image is not None and pictures.is_small(image),
        others=[
            confusion_matrix(outcomes[contender.name], split.classes, contender.name, small=True)
            for contender in styles[1 : _OTHERS + 1]
        ],
        left_out=max(0, len(styles) - 1 - _OTHERS),
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


def _examples(outcome: Outcome, split: HeldOutSplit, image: Feature | None) -> list[Example]:
    wrong = np.flatnonzero(~outcome.correct)
    if len(wrong):
        # Stable sorts: equal probabilities stay in the order of the keys.
        chosen = wrong[np.argsort(-outcome.conviction[wrong], kind="stable")]
    else:
        chosen = np.argsort(outcome.conviction, kind="stable")
    return [
        Example(
            key=str(split.keys[i]),
            true=split.classes[outcome.labels[i]],
            predicted=split.classes[outcome.predicted[i]],
            confidence=float(outcome.conviction[i]),
            true_probability=float(outcome.probabilities[i, outcome.labels[i]]),
            picture=pictures.of_example(split, i, image),
        )
        for i in chosen[: _EXAMPLES[image is None]]
    ]
