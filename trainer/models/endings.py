"""Finds out how a model ends: with logits, or with an activation."""

from typing import Any

import keras

REMEDY = (
    "outputs are logits, of which the trainer makes probabilities itself: end with "
    "layers.Dense(dataset.outputs), without softmax or sigmoid"
)
_BOUNDED = ("softmax", "sigmoid", "hard_sigmoid")
_OPERATIONS = {"softmax": "softmax", "sigmoid": "sigmoid", "hardsigmoid": "hard_sigmoid"}


def bounded(model: keras.Model) -> str | None:
    """Name of the activation, softmax or sigmoid, that is the last thing a functional model does to
    its first output;
    None if it ends otherwise. Layers that only change the shape are looked through.
    """
    tensor = model.outputs[0]
    while isinstance(tensor, keras.KerasTensor):
        operation = tensor._keras_history.operation
        name = _activation(operation)
        if name is not None:
            return name if name in _BOUNDED else None
        if not isinstance(operation, keras.layers.Reshape | keras.layers.Flatten):
            return None
        tensor = operation.input
    return None


def _activation(operation: Any) -> str | None:
    """Return the activation that a layer or operation applies last; None if it is linear or
    unknown.
    """
    if isinstance(operation, keras.layers.Softmax):
        return "softmax"
    # keras.ops.softmax and its siblings are operations of these names.
    if name := _OPERATIONS.get(type(operation).__name__.lower()):
        return name
    given = getattr(operation, "activation", None)
    if given is None or given is keras.activations.linear:
        return None
    return str(getattr(given, "__name__", type(given).__name__))
