"""The models that can be trained, one per module of this package; a group's own: own.py.

This module has only what the command line needs; Keras is imported when a model is built.
"""

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.dataset_description import DatasetDescription
from trainer.dataset_features import SEQUENCE
from trainer.hyperparameters import Hyperparameters

if TYPE_CHECKING:
    import keras


class ModelError(ValueError):
    """The hyperparameters do not fit the dataset; the message says which one to change."""


@dataclass(frozen=True)
class Model:
    """Description of a model. inputs: kinds of dataset that it reads, "image" or "table".

    needs: a kind of feature without which it is no use, or "".
    """

    description: str
    inputs: tuple[str, ...]
    needs: str = ""


MODELS = {
    "dense": Model(
        "fully connected layers over all pixels, or over all features of a row (of a sequence its "
        "mean, spread, maximum and length)",
        ("image", "table"),
    ),
    "residual": Model(
        "what dense reads, in blocks of two normalized layers, each added to what it was given",
        ("image", "table"),
    ),
    "wide_and_deep": Model(
        "the sum of a linear model, which also has a weight for every two values of categorical "
        "features, and of the dense one",
        ("table",),
    ),
    "convolutional": Model("blocks of convolutions, then the mean over the image", ("image",)),
    "vision_transformer": Model(
        "attention between the patches of an image, then their mean", ("image",)
    ),
    "backbone": Model(
        "a network of keras.applications, such as ResNet50, with an output layer of its own; with "
        "weights given, first that layer is trained alone, then the last layers with it",
        ("image",),
    ),
    "recurrent": Model(
        "GRU or LSTM cells over each sequence of a row, then fully connected layers over their "
        "last states and all other features",
        ("table",),
        SEQUENCE,
    ),
    "transformer": Model(
        "attention between the steps of each sequence of a row, then fully connected layers over "
        "their means and all other features",
        ("table",),
        SEQUENCE,
    ),
}


def build(name: str, dataset: DatasetDescription, h: Hyperparameters) -> "keras.Model":
    """A Functional Keras model, from the inputs of `trainer.models.inputs` to outputs
    (b, dataset.outputs).

    The outputs are logits, one for each class; for a regression one number, the label standardized
    with its statistics of the train split. Raises ModelError if the hyperparameters do not fit the
    dataset.
    """
    return importlib.import_module(f"trainer.models.{name}").build(dataset, h)
