"""What families of classes share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trainer.families import Answers, Family


class OfClasses(Family):
    """See the module."""

    loss, order = "log_loss", "auc"

    def answers(self, predictions: Any) -> np.ndarray:
        found: np.ndarray = predictions.probabilities
        return found

    def served(self, found: Answers, order: Sequence[int]) -> np.ndarray:
        return found["probabilities"][:, order]

    @staticmethod
    def _shares(predictions: Any, place: int) -> dict[str, float]:
        # Through text: the digits of the float32, not those of the double it converts to.
        row = predictions.probabilities[place]
        return {
            name: float(str(share)) for name, share in zip(predictions.classes, row, strict=True)
        }
