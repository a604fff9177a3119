"""The optimizer, and its learning rate for the global batch."""

import keras
import tensorflow as tf

from trellis_contracts.hyperparameters import Common


class Adam(keras.optimizers.Adam):
    """Keras' Adam by TensorFlow's own operation for it, one for each weight.

    Keras takes about 40, each of which passes over the whole weight: a step on 8 million weights
    computes twice as long with them.
    """

    def update_step(
        self,
        gradient: tf.Tensor | tf.IndexedSlices,
        variable: tf.Variable,
        learning_rate: tf.Tensor,
    ) -> None:
        """Move one weight. See keras.optimizers.Optimizer."""
        place, kind = self._get_variable_index(variable), variable.dtype
        steps = tf.cast(self.iterations.value + 1, kind)
        tf.raw_ops.ResourceApplyAdam(
            var=_handle(variable),
            m=_handle(self._momentums[place]),
            v=_handle(self._velocities[place]),
            beta1_power=tf.cast(self.beta_1, kind) ** steps,
            beta2_power=tf.cast(self.beta_2, kind) ** steps,
            lr=tf.cast(learning_rate, kind),
            beta1=tf.cast(self.beta_1, kind),
            beta2=tf.cast(self.beta_2, kind),
            epsilon=tf.cast(self.epsilon, kind),
            grad=tf.cast(tf.convert_to_tensor(gradient), kind),
            use_locking=True,
        )


def _handle(variable: tf.Variable | keras.Variable) -> tf.Tensor:
    return (variable.value if isinstance(variable, keras.Variable) else variable).handle


_ADAPTIVE = {
    "adam": Adam,
    "rmsprop": keras.optimizers.RMSprop,
    "lamb": keras.optimizers.Lamb,
    "lion": keras.optimizers.Lion,
}


def peak_rate(h: Common, replicas: int) -> float:
    """The learning rate after the warm-up: it grows with the global batch.

    by_optimizer: linear for SGD, after Goyal et al. 2017 (https://arxiv.org/abs/1706.02677); the
    square root for the others, which divide the gradient by its size, noise included, after
    Malladi et al. 2022 (https://arxiv.org/abs/2205.10287). Their rule scales the decay of the
    moments, too, which is left alone here.
    """
    rule = h.learning_rate_scaling
    if rule == "by_optimizer":
        rule = "linear" if h.optimizer == "sgd" else "square_root"
    return h.learning_rate * {"linear": replicas, "square_root": replicas**0.5, "none": 1}[rule]


def build(h: Common, replicas: int) -> keras.optimizers.Optimizer:
    """The optimizer, as the hyperparameters configure it."""
    rate, decay = peak_rate(h, replicas), h.weight_decay or None
    if h.optimizer == "sgd":
        optimizer = keras.optimizers.SGD(rate, momentum=0.9, nesterov=True, weight_decay=decay)
    else:
        optimizer = _ADAPTIVE[h.optimizer](rate, weight_decay=decay)
    # Decay pulls kernels towards zero. Offsets and normalization's scales need none, and the
    # embedding of a rare term would vanish before its next example.
    optimizer.exclude_from_weight_decay(var_names=["bias", "beta", "gamma", "embeddings"])
    if h.mixed_precision == "float16":
        # Gradients below 6e-8 would be 0 in float16.
        return keras.optimizers.LossScaleOptimizer(optimizer)
    return optimizer
