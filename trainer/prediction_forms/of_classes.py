"""What forms of predicted classes share."""

import numpy as np
import pyarrow as pa

from trainer.prediction_checks import (
    PredictionsError,
    check_keys,
    list_array,
    refuse,
)
from trainer.prediction_forms import AnyPredictions


class Probabilities(AnyPredictions):
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
