"""Running averages of the weights, which are evaluated and exported in place of the last ones.

Averages of the weights along a training are often better than its last ones, and steadier from
epoch to epoch (Polyak & Juditsky 1992; Tarvainen & Valpola 2017, https://arxiv.org/abs/1703.01780).
Keras' own (`use_ema`) starts from zero, and its names are private; this one's decay begins low, so
that the first, untrained weights are soon forgotten.
"""

import contextlib
from collections.abc import Iterator

import keras
import tensorflow as tf


class Averages:
    """Averages of a model's trainable weights. variables: mirrored like those; part of a
    checkpoint.
    """

    def __init__(self, model: keras.Model, strategy: tf.distribute.Strategy, decay: float):
        self._weights = model.trainable_variables
        self._decay = decay
        with strategy.scope():
            self.variables = [tf.Variable(w.numpy(), trainable=False) for w in self._weights]

    def update(self, step: tf.Tensor) -> None:
        """Take in the weights after a step, outside the replicas. step: float32, from 1."""
        decay = tf.minimum(self._decay, (1.0 + step) / (10.0 + step))
        for average, weight in zip(self.variables, self._weights, strict=True):
            value = tf.convert_to_tensor(weight.value)
            average.assign(value + decay * (tf.convert_to_tensor(average) - value))

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """A context in which the model has the averages for its weights."""
        own = [weight.numpy() for weight in self._weights]
        for average, weight in zip(self.variables, self._weights, strict=True):
            weight.assign(average.numpy())
        yield
        for value, weight in zip(own, self._weights, strict=True):
            weight.assign(value)
