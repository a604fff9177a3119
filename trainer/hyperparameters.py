"""All hyperparameters: type, bounds, default, unit and meaning, in this one place.

A field of Hyperparameters is a flag of `python -m trainer.task`, a key of an experiment's `search`
and a column of the leaderboard. Its metadata are JSON Schema keywords, so that the same lines check
the command line here and an experiment file where there is no TensorFlow (trainer.schema). Three
keywords are our own: "expected" is the bounds in words; "inputs" and "tasks" list the kinds of
dataset and the tasks that a hyperparameter affects (absent: all).
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, get_type_hints

Value = bool | int | float | str


class HyperparameterError(ValueError):
    """A value that the trainer does not take; the message says what it would take."""


_CLASSIFICATION = ["multiclass_classification", "binary_classification"]


def _hyperparameter(
    default: Value,
    description: str,
    *,
    unit: str = "",
    models: tuple[str, ...] = (),
    **schema: Any,
) -> Any:
    """A field. models: the only models that read it; empty: all do. schema: JSON Schema's words,
    and "inputs" and "tasks".
    """
    words = {"description": description} | ({"unit": unit} if unit else {})
    metadata = {"schema": {**schema, "default": default, **words}, "models": models}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """What a tuner may vary. The defaults train a small classifier of images or of rows well.

    Raises HyperparameterError when a value is out of its bounds.
    """

    # Optimization: read by every model.
    learning_rate: float = _hyperparameter(
        0.001,
        "step size of one replica; with several, whose batches add up, learning_rate_scaling "
        "raises it",
        exclusiveMinimum=0,
        maximum=1,
    )
    learning_rate_scaling: str = _hyperparameter(
        "by_optimizer",
        "what the learning rate is multiplied by on r replicas: r (linear), the square root of r "
        "(square_root), or 1 (none). by_optimizer: linear for sgd "
        "(https://arxiv.org/abs/1706.02677), square_root for adam and rmsprop "
        "(https://arxiv.org/abs/2205.10287)",
        enum=["by_optimizer", "linear", "square_root", "none"],
    )
    batch_size: int = _hyperparameter(
        32,
        "examples that one replica sees in one step; the global batch is this times the replicas",
        unit="examples",
        minimum=1,
        maximum=65536,
    )
    optimizer: str = _hyperparameter(
        "adam",
        "update rule; sgd has Nesterov momentum 0.9",
        enum=["adam", "sgd", "rmsprop"],
    )
    warmup_epochs: float = _hyperparameter(
        1.0,
        "time in which the learning rate rises in a straight line to its full value",
        unit="epochs",
        minimum=0,
        maximum=100,
    )
    weight_decay: float = _hyperparameter(
        0.0,
        "share of each kernel taken off per step, times the learning rate (decoupled decay, "
        "https://arxiv.org/abs/1711.05101); biases and normalization are left alone",
        minimum=0,
        maximum=1,
    )
    label_smoothing: float = _hyperparameter(
        0.0,
        "share of the target probability spread evenly over all classes; the reported loss is "
        "without it",
        minimum=0,
        exclusiveMaximum=1,
        tasks=_CLASSIFICATION,
    )
    augment: bool = _hyperparameter(
        False,
        "shift each training image at random, by up to an eighth of its height and width, anew "
        "in every epoch",
        inputs=["image"],
    )
    flip: bool = _hyperparameter(
        False,
        "mirror each training image left to right at random, anew in every epoch",
        inputs=["image"],
    )
    early_stopping_patience: int = _hyperparameter(
        10,
        "stop after this many epochs in a row without a better metric on the validation split; "
        "0: never",
        unit="epochs",
        minimum=0,
        maximum=10_000,
    )
    plateau_patience: int = _hyperparameter(
        5,
        "multiply the learning rate by plateau_factor after this many epochs in a row without a "
        "better validation loss; 0: never",
        unit="epochs",
        minimum=0,
        maximum=10_000,
    )
    plateau_factor: float = _hyperparameter(
        0.5,
        "what the learning rate is multiplied by on a plateau",
        exclusiveMinimum=0,
        exclusiveMaximum=1,
    )

    # Architecture.
    dropout: float = _hyperparameter(
        0.0,
        "share of activations set to zero in training: after every hidden layer (dense, "
        "recurrent), before the classifier (convolutional)",
        minimum=0,
        exclusiveMaximum=1,
    )
    layers: int = _hyperparameter(
        2,
        "fully connected hidden layers",
        unit="layers",
        minimum=1,
        maximum=8,
        models=("dense", "recurrent"),
    )
    units: int = _hyperparameter(
        128,
        "width of each hidden layer",
        unit="units",
        minimum=1,
        maximum=4096,
        models=("dense", "recurrent"),
    )
    embedding: int = _hyperparameter(
        8,
        "learned numbers that stand for one value of a categorical feature",
        unit="numbers",
        minimum=1,
        maximum=256,
        models=("dense", "recurrent"),
        inputs=["table"],
    )
    gru_units: int = _hyperparameter(
        32,
        "width of the state in which a GRU sums up a sequence, one GRU for each sequence feature",
        unit="units",
        minimum=1,
        maximum=1024,
        models=("recurrent",),
        inputs=["table"],
    )
    blocks: int = _hyperparameter(
        2,
        "blocks of two convolutions and a pooling that halves height and width; an image must be "
        "at least 2 to the power of this wide and high",
        unit="blocks",
        minimum=1,
        maximum=8,
        models=("convolutional",),
    )
    filters: int = _hyperparameter(
        32,
        "filters of the first block's convolutions; every further block has twice as many, up to "
        "512",
        unit="filters",
        minimum=1,
        maximum=512,
        models=("convolutional",),
    )
    kernel: int = _hyperparameter(
        3,
        "height and width of the convolutions",
        unit="pixels",
        enum=[1, 3, 5, 7],
        models=("convolutional",),
    )

    def __post_init__(self):
        for field in dataclasses.fields(self):
            _check(field.name, getattr(self, field.name))

    def of_training(self, model: str, kind: str, task: str) -> dict[str, Value]:
        """The values that a training reads. kind: of the dataset, "image" or "table"."""
        return {name: getattr(self, name) for name in of_model(model) if reads(name, kind, task)}

    def without_effect(self, kind: str, task: str) -> list[str]:
        """Names of those that differ from their default for nothing, in such a training."""
        return [
            name
            for name, field in _FIELDS.items()
            if not reads(name, kind, task) and getattr(self, name) != field.default
        ]


_FIELDS = {field.name: field for field in dataclasses.fields(Hyperparameters)}
_KINDS: dict[str, type] = get_type_hints(Hyperparameters)
_TYPES = {float: "number", int: "integer", bool: "boolean", str: "string"}


def schema() -> dict[str, dict[str, Any]]:
    """JSON Schema of every hyperparameter, by name."""
    return {
        name: {
            "type": _TYPES[_KINDS[name]],
            "expected": expected(name),
            **field.metadata["schema"],
        }
        for name, field in _FIELDS.items()
    }


def of_model(model: str) -> list[str]:
    """Names of the hyperparameters that a model reads."""
    return [
        n for n, f in _FIELDS.items() if not f.metadata["models"] or model in f.metadata["models"]
    ]


def reads(name: str, kind: str, task: str) -> bool:
    """Whether a hyperparameter has an effect on this task, with this kind of dataset."""
    words = _FIELDS[name].metadata["schema"]
    return kind in words.get("inputs", [kind]) and task in words.get("tasks", [task])


def parse(name: str, text: str) -> Value:
    """The value of a flag. An integer may come as 2.0: Vertex AI's tuner keeps every number as a
    double. Raises HyperparameterError when the text is no value of that hyperparameter.
    """
    kind = _KINDS[name]
    value: Value
    try:
        if kind is bool:
            value = {"true": True, "false": False}[text.lower()]
        elif kind is int:
            value = int(text) if text.lstrip("+-").isdigit() else _integral(float(text))
        else:
            value = kind(text)
    except (KeyError, ValueError, OverflowError):
        raise HyperparameterError(f"{text!r} is not {expected(name)}") from None
    _check(name, value)
    return value


def expected(name: str) -> str:
    """What a hyperparameter takes, in words: `a whole number from 1 to 8`, `a number above 0 and
    at most 1`. Airflow's side shows the same text, which it reads from trainer_schema.json.
    """
    limits = _FIELDS[name].metadata["schema"]
    if "enum" in limits:
        return "one of " + ", ".join(map(str, limits["enum"]))
    words = {
        "minimum": "of at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    kind = {float: "a number", int: "a whole number", bool: "true or false"}[_KINDS[name]]
    if "minimum" in limits and "maximum" in limits:
        return f"{kind} from {limits['minimum']} to {limits['maximum']}"
    bounds = " and ".join(
        f"{text} {limits[word]}" for word, text in words.items() if word in limits
    )
    return f"{kind} {bounds}".strip()


def _integral(number: float) -> int:
    if not number.is_integer():
        raise ValueError(number)
    return int(number)


def _check(name: str, value: Value) -> None:
    limits = _FIELDS[name].metadata["schema"]
    within = value in limits["enum"] if "enum" in limits else True
    if isinstance(value, int | float) and not isinstance(value, bool):
        within = (
            within
            and math.isfinite(value)
            and limits.get("minimum", value) <= value <= limits.get("maximum", value)
            and ("exclusiveMinimum" not in limits or value > limits["exclusiveMinimum"])
            and ("exclusiveMaximum" not in limits or value < limits["exclusiveMaximum"])
        )
    if not within:
        raise HyperparameterError(f"{value!r} is not {expected(name)}")
