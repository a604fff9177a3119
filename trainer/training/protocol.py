"""The one protocol by which a model of any library is trained, scored, saved and served.

    estimator.fit(...)                  learns, then calls `finish` with a Fitted; the exit code
    estimator.load(folder, dataset)     the Predictor that was saved there

    predictor.predict(batch)            scores of the stored examples of a StoredBatch
    predictor.save(folder, ...)         all that `load` and the server need

Scores are (n, classes) float32 in the order of dataset.classes: probabilities that sum to 1, or of
a multi-label task each of its own; of a regression (n,) float64 values in the label's unit; of a
segmentation (n, height, width) uint8 class indices.

What comes before and after asks for nothing else: trainer.training.results saves a predictor,
loads it, and scores what was loaded on the test split. trainer.serving.model answers requests with
what was saved, by the same code for all libraries from the request to the scores and from these to
the answer: decision, explanations by Shapley values, permutation importance.

The estimators (trainer.estimators): keras.py, our networks and a file's `build`, on any number of
machines; own_file.py, a file's `fit` and `load`; ensemble.py, a predictor that is the mean of
others. Neither this module nor these two import TensorFlow by themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from trainer.metrics.decision import Threshold
from trainer.stored import StoredBatch
from trainer.training.settings import Settings
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.postprocessing import PLAIN, Postprocessing
from trellis_contracts.speed import Speed
from trellis_contracts.training import Replica


class Predictor(Protocol):
    """A trained model."""

    def predict(self, batch: StoredBatch) -> np.ndarray:
        """Scores of the batch's examples, as the module's docstring says."""

    def save(
        self, folder: Path, threshold: Threshold | None, postprocessing: Postprocessing = PLAIN
    ) -> None:
        """Write the model, its commit mark last. threshold: by which it labels; None: with the most
        probable class. postprocessing: what the saved model does with this one's scores.
        """


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """The end of a training, in the process that writes its results.

    history: a row for each epoch, as metrics.json has it; the best epoch's has the predictor's own
    figures of the validation split, as val_METRIC. strategy: how it was distributed. warnings: what
    looks wrong. Of networks alone replicas by task, speed of each epoch, weights_sha256 at the best
    epoch, and parameters, the number of trainable ones.
    """

    predictor: Predictor
    history: Sequence[Mapping[str, float]]
    best_epoch: int
    strategy: str = "single"
    replicas: Mapping[str, Replica] | None = None
    speed: Sequence[Speed] = ()
    weights_sha256: str | None = None
    parameters: int | None = None
    warnings: Sequence[str] = ()


class Estimator(Protocol):
    """Learns models of one library."""

    def fit(
        self,
        settings: Settings,
        dataset: DatasetDescription,
        finish: Callable[[Fitted], None],
        at_end: Callable[[], None],
    ) -> int:
        """Train; returns the process's exit code. finish: writes the results, in one process of the
        training; at_end: called in each when they are written. Raises TrainingError, ModelError.
        """

    def load(self, folder: Path, dataset: DatasetDescription) -> Predictor:
        """The model that a predictor has saved. dataset: that it was trained on."""
