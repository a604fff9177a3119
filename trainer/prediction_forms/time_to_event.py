"""Predicted risks and curves of survival."""

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
from trellis_contracts.tasks import SURVIVAL

# Of float32 probabilities that are sums of logarithms.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class Survivals(AnyPredictions):
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
        self._convert(labels=np.float64, risks=np.float64, curves=np.float64)
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
        refuse(
            np.asarray(outside.any(axis=1)), self.keys, "curve", "a probability is outside [0, 1]"
        )
        rises = np.diff(self.curves, axis=1) > _ROUNDING
        refuse(
            np.asarray(rises.any(axis=1)),
            self.keys,
            "curve",
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
