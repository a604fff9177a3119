"""Predicted masks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from trainer.prediction_checks import (
    PredictionsError,
    check_keys,
    list_array,
    lists,
    refuse,
    values_of,
)
from trainer.prediction_forms import AnyPredictions
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.tasks import SEGMENTATION


@dataclass(frozen=True)
class Masks(AnyPredictions):
    """What the metrics need of one contender's masks for n images with c classes, checked when
    built.

    keys: (n,) object array of str, unique. labels, predicted, both: (n, c) int64 pixels of each
    class in the true mask, in the predicted one, and in both. distances: (n, c) float64 of the
    class's boundaries, in pixels; NaN where there are not two. classes: c names, the background
    first. Raises PredictionsError when any of this does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    predicted: np.ndarray
    both: np.ndarray
    distances: np.ndarray
    classes: tuple[str, ...]

    def __post_init__(self):
        self._convert(labels=np.int64, predicted=np.int64, both=np.int64, distances=np.float64)
        object.__setattr__(self, "classes", tuple(str(name) for name in self.classes))
        n, c = len(self.keys), len(self.classes)
        if c < 2:
            raise PredictionsError(f"{c} class(es) named; a mask has at least 2")
        parts = (self.labels, self.predicted, self.both, self.distances)
        if any(part.shape != (n, c) for part in parts):
            shapes = ", ".join(str(part.shape) for part in parts)
            raise PredictionsError(f"shapes do not fit: {n} keys, {c} classes, and {shapes}")
        check_keys(self.keys)
        fewer = np.minimum(self.labels, self.predicted)
        wrong = (self.both < 0) | (self.both > fewer)
        refuse(wrong.any(axis=1), self.keys, "labels", "more pixels in both masks than in one")
        differs = self.labels.sum(axis=1) != self.predicted.sum(axis=1)
        refuse(differs, self.keys, "labels", "masks of different sizes")
        distances = np.nan_to_num(self.distances)
        outside = ~(np.isfinite(distances) & (distances >= 0)).all(axis=1)
        refuse(outside, self.keys, "finite", "a distance is negative or infinite")

    def header(self, origin: Mapping[str, str] | None) -> PredictionsHeader:
        return PredictionsHeader(SEGMENTATION, self.classes, origin=origin)

    def arrays(self) -> dict[str, pa.Array]:
        counts = {"truth": self.labels, "predicted": self.predicted, "both": self.both}
        return {
            **{name: list_array(count, pa.int64()) for name, count in counts.items()},
            "distance": list_array(self.distances, pa.float64()),
        }

    @classmethod
    def of(cls, columns: Mapping[str, pa.Array], header: PredictionsHeader) -> Self:
        (key,) = values_of(columns, "key")
        names = ("truth", "predicted", "both", "distance")
        truth, predicted, both, distances = (
            lists(columns[name], key, len(header.classes), "class") for name in names
        )
        return cls(key, truth, predicted, both, distances, header.classes)
