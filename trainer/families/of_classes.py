"""What families of classes share."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trainer import label_sets
from trainer.families import Answers, Family
from trainer.prediction_checks import PredictionsError
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.tasks import classes_in
from trellis_contracts.withheld import some_of


class OfClasses(Family):
    """See the module."""

    loss, order = "log_loss", "auc"

    def answers(self, predictions: Any) -> np.ndarray:
        found: np.ndarray = predictions.probabilities
        return found

    def served(self, found: Answers, order: Sequence[int]) -> np.ndarray:
        return found["probabilities"][:, order]

    def of_responses(
        self, responses: Sequence[Mapping[str, Any]], dataset: DatasetDescription
    ) -> np.ndarray:
        shares = [[one["probabilities"][name] for name in dataset.classes] for one in responses]
        return np.array(shares, np.float32)

    def of_rows(self, columns: Mapping[str, np.ndarray], dataset: DatasetDescription) -> np.ndarray:
        places = {name: place for place, name in enumerate(dataset.classes)}
        named = [classes_in(str(text), dataset.task) for text in columns["label"]]
        if unknown := sorted({name for names in named for name in names} - set(places)):
            raise PredictionsError(
                f"labels that the model does not know: {some_of(unknown, 'class', 'classes')}"
            )
        indices = [[places[name] for name in names] for names in named]
        if dataset.is_multilabel:
            return np.array([label_sets.of(each) for each in indices], np.int64)
        return np.array([place for (place,) in indices], np.int64)

    @staticmethod
    def _shares(predictions: Any, place: int) -> dict[str, float]:
        # Through text: the digits of the float32, not those of the double it converts to.
        row = predictions.probabilities[place]
        return {
            name: float(str(share)) for name, share in zip(predictions.classes, row, strict=True)
        }
