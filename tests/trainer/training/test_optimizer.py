"""The update rule: which weights decay, and how fast it goes on several replicas."""

import keras
import numpy as np
import pytest

from trainer.hyperparameters import Hyperparameters
from trainer.training import optimizer

KINDS = ["adam", "sgd", "rmsprop"]


@pytest.mark.parametrize("kind", KINDS)
def test_only_kernels_decay(kind):
    model = keras.Sequential(
        [keras.Input([3]), keras.layers.Dense(2), keras.layers.GroupNormalization(1)]
    )
    model.set_weights([np.ones_like(weight) for weight in model.get_weights()])
    h = Hyperparameters(optimizer=kind, learning_rate=0.1, weight_decay=0.5)
    built = optimizer.build(h, replicas=2)
    built.apply_gradients((np.zeros(w.shape, "float32"), w) for w in model.trainable_weights)
    values = {weight.path.split("/")[-1]: weight.numpy().ravel()[0] for weight in model.weights}
    assert values == pytest.approx({"kernel": 1 - 0.2 * 0.5, "bias": 1, "gamma": 1, "beta": 1})


@pytest.mark.parametrize("kind", KINDS)
def test_the_rate_grows_with_the_replicas(kind):
    built = optimizer.build(Hyperparameters(optimizer=kind, learning_rate=0.01), replicas=4)
    assert float(built.learning_rate.numpy()) == pytest.approx(0.04)
