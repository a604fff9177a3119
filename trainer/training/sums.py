"""A vector that all replicas add to, summed up without a message for each step."""

import tensorflow as tf


class Sums:
    """A vector (size,) that each replica adds to on its own; reading it sums over all replicas.

    In float64: float32 would lose count at 16 million examples.
    """

    def __init__(self, strategy: tf.distribute.Strategy, size: int):
        self._zeros = tf.zeros([size], tf.float64)
        with strategy.scope():
            self._variable = tf.Variable(
                self._zeros,
                trainable=False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )

    def clear(self) -> None:
        """Begin again at 0. Outside the replicas."""
        self._variable.assign(self._zeros)

    def add(self, *parts: tf.Tensor) -> None:
        """Add tensors that together have the vector's size. Within a replica."""
        self._variable.assign_add(vector(*parts))

    def read(self) -> tf.Tensor:
        """The sums over all replicas. Outside the replicas."""
        return self._variable.read_value()


def vector(*parts: tf.Tensor) -> tf.Tensor:
    """Tensors of any shape and type as one of float64."""
    if not parts:
        return tf.zeros([0], tf.float64)
    return tf.concat([tf.reshape(tf.cast(part, tf.float64), [-1]) for part in parts], 0)
