"""The hyperparameters of the models in this package, by the model that reads them.

Each names the paper that it comes from, where there is one. trainer.hyperparameters has those of
every model.
"""

from dataclasses import dataclass

from trainer.hyperparameter_field import hyperparameter


@dataclass(frozen=True, kw_only=True)
class OfModels:
    """What a tuner may vary of one or several models, beside what it may vary of all."""

    dropout: float = hyperparameter(
        0.0,
        "share of activations set to zero in training: after every hidden layer (dense, "
        "recurrent), before the classifier (convolutional)",
        minimum=0,
        exclusiveMaximum=1,
    )
    layers: int = hyperparameter(
        2,
        "fully connected hidden layers",
        unit="layers",
        minimum=1,
        maximum=8,
        models=("dense", "recurrent"),
    )
    units: int = hyperparameter(
        128,
        "width of each hidden layer",
        unit="units",
        minimum=1,
        maximum=4096,
        models=("dense", "recurrent"),
    )
    embedding: int = hyperparameter(
        8,
        "learned numbers that stand for one value of a categorical feature",
        unit="numbers",
        minimum=1,
        maximum=256,
        models=("dense", "recurrent"),
        inputs=["table"],
    )
    gru_units: int = hyperparameter(
        32,
        "width of the state in which a GRU sums up a sequence, one GRU for each sequence feature",
        unit="units",
        minimum=1,
        maximum=1024,
        models=("recurrent",),
        inputs=["table"],
    )
    blocks: int = hyperparameter(
        2,
        "blocks of two convolutions and a pooling that halves height and width; an image must be "
        "at least 2 to the power of this wide and high",
        unit="blocks",
        minimum=1,
        maximum=8,
        models=("convolutional",),
    )
    filters: int = hyperparameter(
        32,
        "filters of the first block's convolutions; every further block has twice as many, up to "
        "512",
        unit="filters",
        minimum=1,
        maximum=512,
        models=("convolutional",),
    )
    kernel: int = hyperparameter(
        3,
        "height and width of the convolutions",
        unit="pixels",
        enum=[1, 3, 5, 7],
        models=("convolutional",),
    )
