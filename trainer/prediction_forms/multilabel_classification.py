"""Predicted sets of classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from trainer.prediction_checks import (
    PredictionsError,
    lists,
    refuse,
    values_of,
)
from trainer.prediction_forms.of_classes import Probabilities
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.tasks import MULTILABEL, MULTILABEL_MAX_CLASSES


@dataclass(frozen=True)
class LabelSets(Probabilities):
    """Predictions of one contender for n examples with any number of c classes, checked when built.

    keys: (n,) object array of str, unique. labels: (n,) int64, sets of the true classes.
    probabilities: (n, c) float32 in [0, 1]. classes: c names. Raises PredictionsError when any of
    this does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    classes: tuple[str, ...]

    def __post_init__(self):
        self._convert(labels=np.int64, probabilities=np.float32)
        object.__setattr__(self, "classes", tuple(str(name) for name in self.classes))
        c = len(self.classes)
        if not 2 <= c <= MULTILABEL_MAX_CLASSES:
            raise PredictionsError(
                f"{c} class(es) named; a multi-label task has 2 to {MULTILABEL_MAX_CLASSES}"
            )
        self._check_shapes()
        wrong = (self.labels < 0) | (self.labels >> c > 0)
        refuse(wrong, self.keys, "labels", f"label is not a set of the class indices 0..{c - 1}")
        self._check_finite()
        low, high = self.probabilities.min(axis=1), self.probabilities.max(axis=1)
        refuse((low < 0) | (high > 1), self.keys, "sum", "a probability is outside [0, 1]")

    def header(self, origin: Mapping[str, str] | None) -> PredictionsHeader:
        return PredictionsHeader(MULTILABEL, self.classes, origin=origin)

    @classmethod
    def of(cls, columns: Mapping[str, pa.Array], header: PredictionsHeader) -> Self:
        key, label = values_of(columns, "key", "label")
        probabilities = lists(columns["probabilities"], key, len(header.classes), "class")
        return cls(key, label, probabilities, header.classes)
