"""The models that can be trained, a module of trainer.models each; a group's own: model_file.py."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from trellis_contracts.tasks import ALL, OF_EXAMPLES, OF_PIXELS


@dataclass(frozen=True)
class Model:
    """Description of a model. inputs: what it learns from, "image" or "table" (columns).

    joins: whether it reads the columns beside images; without, of both it reads the columns alone.
    needs: a kind of feature without which it is no use, or "". most: bounds of what it takes of a
    dataset: "steps" of a sequence, "pairs" of categorical features. max_pooling: whether it has
    layers whose gradient XLA cannot compile. tasks: that it can learn.
    """

    description: str
    inputs: tuple[str, ...]
    needs: str = ""
    most: Mapping[str, int] = field(default_factory=dict)
    max_pooling: bool = False
    joins: bool = True
    tasks: tuple[str, ...] = OF_EXAMPLES

    def fits(self, inputs: Collection[str], task: str) -> bool:
        """Return whether it can learn a task from examples that hold these inputs."""
        return task in self.tasks and not {*self.inputs}.isdisjoint(inputs)

    def reads(self, inputs: Collection[str]) -> frozenset[str]:
        """Return which of these inputs of an example it reads."""
        if "table" in inputs and not self.joins:
            return frozenset(["table"])
        return frozenset(inputs)


class OfFile(Model):
    """Description of a group's own model, which reads what it declares to learn from, and learns
    any task.
    """

    def fits(self, inputs: Collection[str], task: str) -> bool:
        """See Model."""
        return not {*self.inputs}.isdisjoint(inputs)

    def reads(self, inputs: Collection[str]) -> frozenset[str]:
        """See Model."""
        return frozenset(self.inputs).intersection(inputs)


def words_for(inputs: Collection[str]) -> str:
    """Inputs for people: `images`, `tables`, `images and tables`."""
    return " and ".join(f"{name}s" for name in sorted(inputs))


MODELS = {
    "dense": Model(
        "fully connected layers over all pixels, or over all features of a row (of a sequence its "
        "mean, spread, maximum and length)",
        ("image", "table"),
        joins=False,
    ),
    "residual": Model(
        "the inputs of dense, in blocks of two normalized layers, each added to its input",
        ("image", "table"),
        joins=False,
    ),
    "wide_and_deep": Model(
        "the sum of a linear model, which also has a weight for every two values of categorical "
        "features, and of the dense one",
        ("table",),
        most={"pairs": 1000},
        joins=False,
    ),
    "convolutional": Model(
        "blocks of convolutions, then the mean over the image", ("image",), max_pooling=True
    ),
    "vision_transformer": Model(
        "attention between the patches of an image, then their mean", ("image",)
    ),
    "backbone": Model(
        "a network of keras.applications, such as ResNet50, with an output layer of its own, or, "
        "of masks, with the expanding half of a U-Net; with weights given, first that is trained "
        "alone, then the last layers with it",
        ("image",),
        tasks=ALL,
    ),
    "unet": Model(
        "a U-Net (https://arxiv.org/abs/1505.04597): convolutions that halve an image step by "
        "step, and others that double it again, each joined with what there was at its size",
        ("image",),
        max_pooling=True,
        tasks=OF_PIXELS,
    ),
    "recurrent": Model(
        "GRU or LSTM cells over each sequence of a row, then fully connected layers over their "
        "last states and all other features",
        ("table",),
        "sequence",
        joins=False,
    ),
    "transformer": Model(
        "attention between the steps of each sequence of a row, then fully connected layers over "
        "their means and all other features",
        ("table",),
        "sequence",
        # Attention compares all steps with all: of more, one example would take gigabytes.
        most={"steps": 2048},
        joins=False,
    ),
}
