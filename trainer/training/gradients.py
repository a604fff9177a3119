"""Gradients of what a step minimizes in several parts."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf


def of_parts(
    tape: tf.GradientTape,
    parts: Sequence[tuple[tf.Tensor, Sequence[keras.Variable] | None]],
    variables: Sequence[keras.Variable],
) -> list[Any]:
    """Gradients of the variables, summed over the parts; None of a variable on which no part
    depends. parts: each a scalar, and the variables that it moves; None: all. The tape is
    persistent if there are several.
    """
    found: dict[int, Any] = {}
    for loss, moved in parts:
        chosen = {id(variable) for variable in (variables if moved is None else moved)}
        own = [variable for variable in variables if id(variable) in chosen]
        for variable, slope in zip(own, tape.gradient(loss, own), strict=True):
            if slope is not None:
                # An embedding's gradient names its rows: summed up here, it can be added up by
                # every strategy.
                slope, before = tf.convert_to_tensor(slope), found.get(id(variable))
                found[id(variable)] = slope if before is None else before + slope
    return [found.get(id(variable)) for variable in variables]
