"""The optimizer, and its learning rate for the global batch."""

import keras

from trainer.hyperparameters import Hyperparameters


def peak_rate(h: Hyperparameters, replicas: int) -> float:
    """The learning rate after the warm-up, proportional to the global batch."""
    return h.learning_rate * replicas


def build(h: Hyperparameters, replicas: int) -> keras.optimizers.Optimizer:
    """The optimizer, as the hyperparameters configure it."""
    rate, decay = peak_rate(h, replicas), h.weight_decay or None
    if h.optimizer == "sgd":
        optimizer = keras.optimizers.SGD(rate, momentum=0.9, nesterov=True, weight_decay=decay)
    else:
        kind = {"adam": keras.optimizers.Adam, "rmsprop": keras.optimizers.RMSprop}[h.optimizer]
        optimizer = kind(rate, weight_decay=decay)
    # Decay pulls kernels towards zero. Offsets and normalization's scales need none, and the
    # embedding of a rare term would vanish before its next example.
    optimizer.exclude_from_weight_decay(var_names=["bias", "beta", "gamma", "embeddings"])
    return optimizer
