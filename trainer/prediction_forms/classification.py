"""Predicted classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from trainer.metrics.decision import Threshold
from trainer.prediction_checks import (
    PredictionsError,
    lists,
    refuse,
    values_of,
)
from trainer.prediction_forms.of_classes import Probabilities
from trellis_contracts.predictions import SUM_TOLERANCE, PredictionsHeader


@dataclass(frozen=True)
class Predictions(Probabilities):
    """Predictions of one contender for n examples over c classes, checked when built.

    keys: (n,) object array of str, unique. labels: (n,) int32 in [0, c).
    probabilities: (n, c) float32 in [0, 1], each row summing to 1 within SUM_TOLERANCE.
    classes: c names. threshold: between two classes; None: the most probable one is decided
    (trainer.metrics.decision). Raises PredictionsError when any of this does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    classes: tuple[str, ...]
    threshold: Threshold | None = None

    def __post_init__(self):
        self._convert(labels=np.int32, probabilities=np.float32)
        object.__setattr__(self, "classes", tuple(str(name) for name in self.classes))
        self._check()

    def header(self, origin: Mapping[str, str] | None) -> PredictionsHeader:
        threshold = self.threshold.named(self.classes) if self.threshold else None
        return PredictionsHeader(None, self.classes, threshold, origin)

    @classmethod
    def of(cls, columns: Mapping[str, pa.Array], header: PredictionsHeader) -> Self:
        key, label = values_of(columns, "key", "label")
        probabilities = lists(columns["probabilities"], key, len(header.classes), "class")
        try:
            named = header.threshold
            threshold = Threshold.of(named.to_document(), header.classes) if named else None
        except ValueError as error:
            raise PredictionsError(str(error)) from error
        return cls(key, label, probabilities, header.classes, threshold)

    def _check(self) -> None:
        c = len(self.classes)
        if c < 2:
            raise PredictionsError(f"{c} class(es) named; a classifier has at least 2")
        if self.threshold is not None and c != 2:
            raise PredictionsError(f"a threshold between {c} classes; one decides between 2")
        self._check_shapes()
        wrong_label = (self.labels < 0) | (self.labels >= c)
        refuse(wrong_label, self.keys, "labels", f"label is not a class index in 0..{c - 1}")
        self._check_finite()
        low, high = self.probabilities.min(axis=1), self.probabilities.max(axis=1)
        refuse(
            (low < 0) | (high > 1 + SUM_TOLERANCE),
            self.keys,
            "sum",
            "a probability is outside [0, 1]",
        )
        sums = self.probabilities.sum(axis=1, dtype=np.float64)
        refuse(
            np.abs(sums - 1) > SUM_TOLERANCE,
            self.keys,
            "sum",
            "probabilities do not sum to 1 (are they logits? apply softmax first)",
        )
