"""Predictions of one contender, in the form of its task: checked when built, and as the columns of
predictions.parquet (trellis_contracts.predictions).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import pyarrow as pa

from trainer.metrics.decision import Threshold
from trainer.prediction_checks import (
    PredictionsError,
    check_keys,
    list_array,
    lists,
    refuse,
    texts,
    values_of,
)
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.tasks import (
    MULTILABEL,
    MULTILABEL_MAX_CLASSES,
    REGRESSION,
    SEGMENTATION,
    SURVIVAL,
)

# float32 softmax over thousands of classes sums to 1 within 1e-5; services that round their
# probabilities to four digits stay within this, logits and unnormalised scores do not.
SUM_TOLERANCE = 1e-3
# Of float32 probabilities that are sums of logarithms.
_ROUNDING = 1e-5


class _Form(ABC):
    """keys: (n,) object array of str, unique."""

    keys: np.ndarray

    def __len__(self) -> int:
        return len(self.keys)

    @abstractmethod
    def header(self, origin: Mapping[str, str] | None) -> PredictionsHeader:
        """Return the metadata of a file. origin: identifies the model and its input."""

    @abstractmethod
    def arrays(self) -> dict[str, pa.Array]:
        """Return the columns of a file but the key."""

    @classmethod
    @abstractmethod
    def of(cls, columns: Mapping[str, pa.Array], header: PredictionsHeader) -> Self:
        """Read the columns of a file, none of which has a NULL. Raises PredictionsError."""


class _Probabilities(_Form):
    """labels: (n,) integers. probabilities: (n, c) float32. classes: c names."""

    labels: np.ndarray
    probabilities: np.ndarray
    classes: tuple[str, ...]

    def arrays(self) -> dict[str, pa.Array]:
        return {
            "label": pa.array(self.labels),
            "probabilities": list_array(self.probabilities, pa.float32()),
        }

    def _check_shapes(self) -> None:
        n, c = len(self.keys), len(self.classes)
        if self.labels.shape != (n,) or self.probabilities.shape != (n, c):
            raise PredictionsError(
                f"shapes do not fit: {n} keys, labels {self.labels.shape}, probabilities "
                f"{self.probabilities.shape} for {c} classes (expected ({n},) and ({n}, {c}))"
            )
        check_keys(self.keys)

    def _check_finite(self) -> None:
        refuse(
            ~np.isfinite(self.probabilities).all(axis=1),
            self.keys,
            "finite",
            "probabilities hold NaN or infinity (did the training diverge?)",
        )


@dataclass(frozen=True)
class Predictions(_Probabilities):
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
        # The arrays may come from any library; convert them to one form.
        object.__setattr__(self, "keys", texts(self.keys))
        object.__setattr__(self, "labels", np.asarray(self.labels, dtype=np.int32))
        object.__setattr__(self, "probabilities", np.asarray(self.probabilities, dtype=np.float32))
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


@dataclass(frozen=True)
class LabelSets(_Probabilities):
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
        object.__setattr__(self, "keys", texts(self.keys))
        object.__setattr__(self, "labels", np.asarray(self.labels, dtype=np.int64))
        object.__setattr__(self, "probabilities", np.asarray(self.probabilities, dtype=np.float32))
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


@dataclass(frozen=True)
class Values(_Form):
    """Predictions of one contender for n examples with a numeric label, checked when built.

    keys: (n,) object array of str, unique. labels, values: (n,) float64, finite, true and
    predicted, both in the label's own unit. Raises PredictionsError when any of this does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    values: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "keys", texts(self.keys))
        object.__setattr__(self, "labels", np.asarray(self.labels, dtype=np.float64))
        object.__setattr__(self, "values", np.asarray(self.values, dtype=np.float64))
        n = len(self.keys)
        if self.labels.shape != (n,) or self.values.shape != (n,):
            raise PredictionsError(
                f"shapes do not fit: {n} keys, labels {self.labels.shape}, values "
                f"{self.values.shape} (expected ({n},) twice; flatten a model's (n, 1) output)"
            )
        check_keys(self.keys)
        refuse(~np.isfinite(self.labels), self.keys, "labels", "label is NaN or infinite")
        refuse(
            ~np.isfinite(self.values),
            self.keys,
            "finite",
            "predicted value is NaN or infinite (did the training diverge?)",
        )

    def header(self, origin: Mapping[str, str] | None) -> PredictionsHeader:
        return PredictionsHeader(REGRESSION, origin=origin)

    def arrays(self) -> dict[str, pa.Array]:
        return {"label": pa.array(self.labels), "value": pa.array(self.values)}

    @classmethod
    def of(cls, columns: Mapping[str, pa.Array], header: PredictionsHeader) -> Self:
        return cls(*values_of(columns, "key", "label", "value"))


@dataclass(frozen=True)
class Survivals(_Form):
    """Predictions of one contender for n examples with a time to an event, checked when built.

    keys: (n,) object array of str, unique. labels: (n, 2) float64, the time, and 1 if the event
    happened then, else 0. risks: (n,) float64. curves: (n, t) float64 probabilities of no event
    until each of the times, which rise: no curve does. Raises PredictionsError when any of this
    does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    risks: np.ndarray
    curves: np.ndarray
    times: tuple[float, ...]

    def __post_init__(self):
        object.__setattr__(self, "keys", texts(self.keys))
        for name in ("labels", "risks", "curves"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "times", tuple(map(float, self.times)))
        n, t = len(self.keys), len(self.times)
        found = self.labels.shape, self.risks.shape, self.curves.shape
        if found != ((n, 2), (n,), (n, t)):
            raise PredictionsError(
                f"shapes do not fit: {n} keys, labels {found[0]}, risks {found[1]}, probabilities "
                f"of survival {found[2]} at {t} times"
            )
        check_keys(self.keys)
        known = np.isfinite(self.labels).all(axis=1) & (self.labels[:, 0] >= 0)
        refuse(~known, self.keys, "labels", "time is negative, NaN or infinite")
        refuse(~np.isin(self.labels[:, 1], (0, 1)), self.keys, "labels", "event is neither 0 nor 1")
        finite = np.isfinite(self.risks) & np.isfinite(self.curves).all(axis=1)
        refuse(
            ~finite,
            self.keys,
            "finite",
            "risk or survival is NaN or infinite (did the training diverge?)",
        )
        outside = (self.curves < 0) | (self.curves > 1)
        refuse(np.asarray(outside.any(axis=1)), self.keys, "sum", "a probability is outside [0, 1]")
        rises = np.diff(self.curves, axis=1) > _ROUNDING
        refuse(
            np.asarray(rises.any(axis=1)),
            self.keys,
            "sum",
            "the probability of survival rises with time",
        )

    def header(self, origin: Mapping[str, str] | None) -> PredictionsHeader:
        return PredictionsHeader(SURVIVAL, origin=origin, times=self.times)

    def arrays(self) -> dict[str, pa.Array]:
        return {
            "label": pa.array(self.labels[:, 0]),
            "event": pa.array(self.labels[:, 1] == 1),
            "risk": pa.array(self.risks),
            "survival": list_array(self.curves, pa.float64()),
        }

    @classmethod
    def of(cls, columns: Mapping[str, pa.Array], header: PredictionsHeader) -> Self:
        key, time, event, risk = values_of(columns, "key", "label", "event", "risk")
        curves = lists(columns["survival"], key, len(header.times), "time")
        labels = np.stack([time, event.astype(np.float64)], axis=1)
        return cls(key, labels, risk, curves, header.times)


@dataclass(frozen=True)
class Masks(_Form):
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
        object.__setattr__(self, "keys", texts(self.keys))
        for name in ("labels", "predicted", "both"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        object.__setattr__(self, "distances", np.asarray(self.distances, dtype=np.float64))
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


AnyPredictions: TypeAlias = Predictions | LabelSets | Values | Survivals | Masks

FORMS: dict[str | None, type[AnyPredictions]] = {
    None: Predictions,
    MULTILABEL: LabelSets,
    REGRESSION: Values,
    SURVIVAL: Survivals,
    SEGMENTATION: Masks,
}
"""By the task of a header."""
