"""What the validation split decides once a training has ended: first the calibration; then, of
calibrated probabilities, the threshold, what is handed back, and the sets of classes.

Sets and intervals hold for a model that has not seen the examples that they are made of. So with a
calibration, which is fitted on such examples, the split is halved: it has one half of the keys, or
of the groups, and the sets have the other.

The validation figures by which trainings are selected remain those of the probabilities before
calibration: after it, they would be those of a model that was fitted on the same examples.
"""

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trainer import calibration, conformal, label_sets, postprocessing
from trainer.metrics import decision
from trainer.metrics.decision import Threshold
from trainer.training import TrainingError, scores
from trainer.training.protocol import Predictor
from trainer.training.scores import Scores
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.held_out import NOTHING, HeldOut
from trellis_contracts.metrics import BY_DECISION
from trellis_contracts.postprocessing import (
    PLAIN,
    Abstention,
    Calibration,
    Conformal,
    Postprocessing,
)


@dataclass(frozen=True)
class Chosen:
    """threshold: None: the most probable class. figures: what it changes on the validation split,
    by metric.
    """

    postprocessing: Postprocessing = PLAIN
    threshold: Threshold | None = None
    figures: Mapping[str, float] = dataclasses.field(default_factory=dict)


def of(asked: HeldOut, address: str, dataset: DatasetDescription, predictor: Predictor) -> Chosen:
    """Choose for a trained model what is asked for. address: of the dataset's folder. Raises
    TrainingError.
    """
    if asked == NOTHING:
        return Chosen()
    found = scores.of_split(predictor, address, dataset, "validation")
    fitted, unseen = None, found
    if asked.calibrate is not None:
        seen = found
        if asked.coverage is not None:
            half = _half(found)
            seen, unseen = found.subset(half), found.subset(~half)
        fitted = _calibration(asked.calibrate, seen)
        found, unseen = (_calibrated(fitted, one) for one in (found, unseen))
    threshold, figures = None, {}
    if asked.decide is not None:
        threshold = decision.choose(asked.decide, found.labels, found.answers)
        every = found.figures(threshold)
        figures = {name: every[name] for name in BY_DECISION}
    chosen = Postprocessing(
        calibration=fitted,
        abstention=_abstention(asked.abstain, found, threshold),
        conformal=_conformal(asked.coverage, unseen),
    )
    return Chosen(chosen, threshold, figures)


def _half(found: Scores) -> np.ndarray:
    """(n,) bool: half of the keys, or of the groups, in an order that no data decide."""
    units = found.keys if found.groups is None else found.groups.astype(str)
    names, of = np.unique(units.astype(str), return_inverse=True)
    digests = [hashlib.sha256(f"calibration {name}".encode()).digest() for name in names]
    order = sorted(range(len(names)), key=digests.__getitem__)
    first = np.zeros(len(names), bool)
    first[order[: len(names) // 2]] = True
    half: np.ndarray = first[of]
    return half


def _calibration(method: str, found: Scores) -> Calibration:
    dataset, labels = found.dataset, found.labels
    if dataset.is_multilabel:
        labels = label_sets.members(labels, len(dataset.classes))
    fitted = calibration.fit(method, labels, found.answers, dataset.classes)
    if fitted.remark:
        print(f"calibration: {fitted.remark}", flush=True)
    return fitted


def _calibrated(fitted: Calibration, found: Scores) -> Scores:
    dataset = found.dataset
    answers = calibration.apply(fitted, found.answers, dataset.classes, dataset.is_multilabel)
    return dataclasses.replace(found, answers=answers)


def _abstention(
    share: float | None, found: Scores, threshold: Threshold | None
) -> Abstention | None:
    """Between the certainties of the last example to hand back and the first one to answer."""
    if share is None:
        return None
    certainties = np.sort(postprocessing.certainty(found.answers, threshold))
    back = int(share * len(certainties) + 1e-9)
    return Abstention(share, float(certainties[back - 1 : back + 1].mean()))


def _conformal(coverage: float | None, found: Scores) -> Conformal | None:
    if coverage is None:
        return None
    make = conformal.of_numbers if found.dataset.is_regression else conformal.of_classes
    try:
        return make(coverage, found.labels, found.answers, found.groups)
    except ValueError as error:
        raise TrainingError(
            f"coverage: the examples of the validation split, or its groups: {error}"
        ) from error
