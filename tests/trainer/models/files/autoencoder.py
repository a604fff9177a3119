"""A variational autoencoder (https://arxiv.org/abs/1312.6114) that also says an image's class."""

import keras
import tensorflow as tf
from keras import layers, ops

from trainer.models import inputs

HYPERPARAMETERS = {
    "codes": {"default": 8, "minimum": 1, "maximum": 64, "description": "numbers of a code"},
    "width": {"default": 64, "minimum": 8, "maximum": 512, "description": "units of a layer"},
}


@keras.saving.register_keras_serializable()
class Drawn(layers.Layer):
    """A code drawn from a normal distribution, in training alone."""

    def __init__(self, **options):
        super().__init__(**options)
        self.seeds = keras.random.SeedGenerator(3)

    def call(self, taken, training=False):
        mean, variance = taken
        if not training:
            return mean
        return mean + ops.exp(variance / 2) * keras.random.normal(ops.shape(mean), seed=self.seeds)


def build(dataset, hyperparameters):
    image, pixels = inputs.image(dataset)
    flat = layers.Flatten()(pixels)
    seen = layers.Dense(hyperparameters.width, activation="relu")(flat)
    mean, variance = (layers.Dense(hyperparameters.codes)(seen) for _ in range(2))
    x = layers.Dense(hyperparameters.width, activation="relu")(Drawn()([mean, variance]))
    picture = layers.Dense(flat.shape[1], activation="tanh")(x)
    return keras.Model(image, [layers.Dense(dataset.outputs)(mean), picture, mean, variance])


def train_step(model, batch, hyperparameters):
    scores, picture, mean, variance = model(batch.inputs, training=True)
    pixels = tf.cast(batch.inputs["image"], tf.float32) / 127.5 - 1
    wanted = tf.reshape(pixels, tf.shape(picture))
    own = variance + 1 - tf.square(mean) - tf.exp(variance)
    return {
        "entropy": tf.nn.sparse_softmax_cross_entropy_with_logits(batch.labels, scores),
        "reconstruction": tf.reduce_mean(tf.square(picture - wanted), 1),
        "divergence": -0.01 * tf.reduce_mean(own, 1),
    }
