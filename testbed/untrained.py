"""Models that nobody has trained, for tests of what comes after a training."""

import keras
import numpy as np

from trainer import models
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Hyperparameters


def as_if_trained(name: str, dataset: DatasetDescription) -> keras.Model:
    """The model of this name with random weights, of a fixed seed. Its embeddings have some, too:
    else all terms would mean the same.
    """
    keras.utils.set_random_seed(1)
    model = models.build(name, dataset, Hyperparameters())
    for variable in model.weights:
        if variable.name == "embeddings":
            variable.assign(np.random.default_rng(2).normal(size=variable.shape))
    return model
