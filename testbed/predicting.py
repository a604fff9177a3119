"""Predictions of a split by a Keras model, saved or not."""

from pathlib import Path

import keras
import numpy as np

from trainer.models.answering import Traced
from trainer.training import objectives, scores
from trainer.training.saved_model import KerasPredictor
from trellis_contracts.dataset import DatasetDescription


def predict(
    model: Path | keras.Model, address: str, dataset: DatasetDescription, split: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys (n,) str, labels (n,), and probabilities (n, classes) or values (n,). model: the folder
    of a SavedModel, or what will be one.
    """
    if isinstance(model, keras.Model):
        predictor = KerasPredictor.built(Traced(model), dataset, objectives.answers_of(dataset))
    else:
        predictor = KerasPredictor.loaded(model, dataset)
    found = scores.of_split(predictor, address, dataset, split)
    return found.keys, found.labels, found.answers
