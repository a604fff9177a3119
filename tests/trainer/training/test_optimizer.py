"""The update rule: which weights decay, and how fast it goes on several replicas."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.training import optimizer
from trellis_contracts.hyperparameters import Hyperparameters

KINDS = ["adam", "sgd", "rmsprop"]


@pytest.mark.parametrize("kind", KINDS)
def test_only_kernels_decay(kind):
    model = keras.Sequential(
        [keras.Input([3]), keras.layers.Dense(2), keras.layers.GroupNormalization(1)]
    )
    model.set_weights([np.ones_like(weight) for weight in model.get_weights()])
    h = Hyperparameters(
        optimizer=kind, learning_rate=0.1, learning_rate_scaling="linear", weight_decay=0.5
    )
    built = optimizer.build(h, replicas=2)
    built.apply_gradients((np.zeros(w.shape, "float32"), w) for w in model.trainable_weights)
    values = {weight.path.split("/")[-1]: weight.numpy().ravel()[0] for weight in model.weights}
    assert values == pytest.approx({"kernel": 1 - 0.2 * 0.5, "bias": 1, "gamma": 1, "beta": 1})


@pytest.mark.parametrize(
    ("kind", "scaling", "rate"),
    [
        ("sgd", "by_optimizer", 0.04),
        ("adam", "by_optimizer", 0.02),
        ("rmsprop", "by_optimizer", 0.02),
        ("adam", "linear", 0.04),
        ("sgd", "square_root", 0.02),
        ("sgd", "none", 0.01),
    ],
)
def test_the_rate_grows_with_the_replicas_as_is_right_for_the_optimizer(kind, scaling, rate):
    h = Hyperparameters(optimizer=kind, learning_rate=0.01, learning_rate_scaling=scaling)
    assert float(optimizer.build(h, replicas=4).learning_rate.numpy()) == pytest.approx(rate)
    assert optimizer.peak_rate(h, replicas=1) == 0.01


def test_adam_is_keras_adam():
    """Also of an embedding, whose gradient has the rows that a batch has alone."""
    weights = []
    for adam in (optimizer.Adam(0.01), keras.optimizers.Adam(0.01)):
        keras.utils.set_random_seed(1)
        model = keras.Sequential(
            [keras.Input([2]), keras.layers.Embedding(9, 3), keras.layers.Dense(1)]
        )
        for step in range(5):
            batch = tf.constant([[step % 2, 3], [4, 5]])
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(batch) ** 2)
            slopes = tape.gradient(loss, model.trainable_weights)
            assert isinstance(slopes[0], tf.IndexedSlices)
            adam.apply_gradients(zip(slopes, model.trainable_weights, strict=True))
        weights.append(model.get_weights())
    for ours, theirs in zip(*weights, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
