"""The winner of a multi-label task in detail: its scores by class, and its most certain errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer import label_sets
from trainer.comparison.held_out_split import HeldOutSplit
from trainer.metrics.set_outcome import SetOutcome
from trainer.report import pictures
from trainer.report.contenders import ContenderStyle
from trellis_contracts.dataset_features import Feature
from trellis_contracts.predictions import DECIDED_ABOVE

# Examples shown, with pictures and without.
_EXAMPLES = 24, 12


@dataclass(frozen=True)
class ClassScore:
    """One class's row: test examples that have it, and in which it is decided; scores, None where
    undefined.
    """

    name: str
    examples: int
    predicted: int
    precision: float | None
    recall: float | None
    f1: float | None
    auc: float | None
    average_precision: float | None


@dataclass(frozen=True)
class Error:
    """A class that is decided wrongly for a test example. probability: of the class. present:
    whether the example has it. true, predicted: all classes. picture: data URI or empty.
    """

    key: str
    name: str
    probability: float
    present: bool
    true: str
    predicted: str
    picture: str


@dataclass(frozen=True)
class SetSection:
    """exact: examples with all classes right, of examples_total. wrong: decisions, of decisions.

    errors: of as many examples, by falling certainty of the wrong decision.
    """

    exact: int
    examples_total: int
    wrong: int
    decisions: int
    classes: Sequence[ClassScore]
    errors: Sequence[Error]
    pixelated: bool


def set_section(
    outcomes: Mapping[str, SetOutcome],
    styles: Sequence[ContenderStyle],
    split: HeldOutSplit,
    features: Sequence[Feature],
) -> SetSection:
    """Lay out the winner's predictions for the test split."""
    outcome = outcomes[styles[0].name]
    image = pictures.image_of(features)
    return SetSection(
        exact=int(np.count_nonzero(outcome.correct)),
        examples_total=len(split),
        wrong=int(outcome.misses.sum()),
        decisions=outcome.true.size,
        classes=[_score(outcome, c, name) for c, name in enumerate(split.classes)],
        errors=_errors(outcome, split, image),
        pixelated=image is not None and pictures.is_small(image),
    )


def _score(outcome: SetOutcome, c: int, name: str) -> ClassScore:
    true, decided = outcome.true[:, c], outcome.decided[:, c]
    examples, predicted = int(true.sum()), int(decided.sum())
    found = int((true & decided).sum())
    mixed = c in outcome.mixed_classes
    area = sklearn_metrics.roc_auc_score, sklearn_metrics.average_precision_score
    auc, precision = (
        float(metric(true, outcome.probabilities[:, c])) if mixed else None for metric in area
    )
    return ClassScore(
        name=name,
        examples=examples,
        predicted=predicted,
        precision=found / predicted if predicted else None,
        recall=found / examples if examples else None,
        f1=2 * found / (examples + predicted) if examples else None,
        auc=auc,
        average_precision=precision,
    )


def _errors(outcome: SetOutcome, split: HeldOutSplit, image: Feature | None) -> list[Error]:
    certainty = np.abs(outcome.probabilities - DECIDED_ABOVE)
    certainty[outcome.true == outcome.decided] = -1
    worst = certainty.argmax(axis=1)
    wrong = np.flatnonzero(outcome.misses)
    # A stable sort: equal ones stay in the order of the keys.
    order = np.argsort(-certainty[wrong, worst[wrong]], kind="stable")
    return [
        Error(
            key=str(split.keys[i]),
            name=split.classes[worst[i]],
            probability=float(outcome.probabilities[i, worst[i]]),
            present=bool(outcome.true[i, worst[i]]),
            true=label_sets.text(outcome.labels[i], split.classes),
            predicted=label_sets.text(
                label_sets.of(np.flatnonzero(outcome.decided[i]).tolist()), split.classes
            ),
            picture=pictures.of_example(split, i, image),
        )
        for i in wrong[order][: _EXAMPLES[image is None]]
    ]
