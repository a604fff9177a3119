"""Predictions of a split by a Keras model, saved or not."""

from pathlib import Path

import keras
import numpy as np

from trainer.training import scores
from trainer.training.saved_model import KerasPredictor
from trellis_contracts.dataset import DatasetDescription


def predict(
    model: Path | keras.Model, address: str, dataset: DatasetDescription, split: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys (n,) str, labels (n,), and probabilities (n, classes) or values (n,). model: the folder
    of a SavedModel, or what will be one.
    """
    made = KerasPredictor.built if isinstance(model, keras.Model) else KerasPredictor.loaded
    found = scores.of_split(made(model, dataset), address, dataset, split)
    return found.keys, found.labels, found.answers
