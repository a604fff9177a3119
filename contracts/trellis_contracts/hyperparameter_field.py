"""Declares a hyperparameter: a field of a dataclass with JSON Schema's keywords as metadata."""

import dataclasses
from typing import Any

Value = bool | int | float | str


def hyperparameter(
    default: Value,
    description: str,
    *,
    unit: str = "",
    models: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
    **schema: Any,
) -> Any:
    """A field. models: the only models that read it; empty: all do but those in `without`. schema:
    JSON Schema's words, and the trainer's own (hyperparameters.py).
    """
    words = {"description": description} | ({"unit": unit} if unit else {})
    metadata = {
        "schema": {**schema, "default": default, **words},
        "models": models,
        "without": without,
    }
    return dataclasses.field(default=default, metadata=metadata)
