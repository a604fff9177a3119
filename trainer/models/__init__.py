"""The models that can be trained, one per module of this package; a group's own: own.py.

trellis_contracts.models declares them. Keras is imported when a model is built.
"""

import importlib
from typing import TYPE_CHECKING

from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.models import MODELS

if TYPE_CHECKING:
    import keras


class ModelError(ValueError):
    """The hyperparameters do not fit the dataset; the message says which one to change."""


def build(name: str, dataset: DatasetDescription, h: Hyperparameters) -> "keras.Model":
    """A Functional Keras model, from the inputs of `trainer.models.inputs` to outputs
    (b, dataset.outputs).

    The outputs are logits, one for each class; for a regression one number, the label standardized
    with its statistics of the train split. Of columns beside images, a model that does not join
    them has the inputs of the columns alone. Raises ModelError if the hyperparameters do not fit
    the dataset.
    """
    read = dataset.only(MODELS[name].reads(dataset.inputs))
    return importlib.import_module(f"trainer.models.{name}").build(read, h)
