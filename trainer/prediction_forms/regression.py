"""Predicted numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from trainer.prediction_checks import (
    PredictionsError,
    check_keys,
    refuse,
    values_of,
)
from trainer.prediction_forms import AnyPredictions
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.tasks import REGRESSION


@dataclass(frozen=True)
class Values(AnyPredictions):
    """Predictions of one contender for n examples with a numeric label, checked when built.

    keys: (n,) object array of str, unique. labels, values: (n,) float64, finite, true and
    predicted, both in the label's own unit. Raises PredictionsError when any of this does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    values: np.ndarray

    def __post_init__(self):
        self._convert(labels=np.float64, values=np.float64)
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
