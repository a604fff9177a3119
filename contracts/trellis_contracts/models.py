"""The models that can be trained, a module of trainer.models each; a group's own: model_file.py."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Model:
    """Description of a model. inputs: kinds of dataset that it reads, "image" or "table".

    needs: a kind of feature without which it is no use, or "". most: bounds of what it takes of a
    dataset: "steps" of a sequence, "pairs" of categorical features. max_pooling: whether it has
    layers whose gradient XLA cannot compile.
    """

    description: str
    inputs: tuple[str, ...]
    needs: str = ""
    most: Mapping[str, int] = field(default_factory=dict)
    max_pooling: bool = False


MODELS = {
    "dense": Model(
        "fully connected layers over all pixels, or over all features of a row (of a sequence its "
        "mean, spread, maximum and length)",
        ("image", "table"),
    ),
    "residual": Model(
        "the inputs of dense, in blocks of two normalized layers, each added to its input",
        ("image", "table"),
    ),
    "wide_and_deep": Model(
        "the sum of a linear model, which also has a weight for every two values of categorical "
        "features, and of the dense one",
        ("table",),
        most={"pairs": 1000},
    ),
    "convolutional": Model(
        "blocks of convolutions, then the mean over the image", ("image",), max_pooling=True
    ),
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
        "sequence",
    ),
    "transformer": Model(
        "attention between the steps of each sequence of a row, then fully connected layers over "
        "their means and all other features",
        ("table",),
        "sequence",
        # Attention compares all steps with all: of more, one example would take gigabytes.
        most={"steps": 2048},
    ),
}
