"""A multilayer perceptron: the simplest model, and the one to beat."""

import keras
from keras import layers

from trainer.hyperparameters import Hyperparameters


def build(shape: tuple[int, int, int], classes: int, h: Hyperparameters) -> keras.Model:
    """See trainer.models.build."""
    image = keras.Input(shape, dtype="uint8", name="image")
    x = layers.Rescaling(1 / 127.5, offset=-1)(image)
    x = layers.Flatten()(x)
    for _ in range(h.layers):
        x = layers.Dense(h.units, activation="relu")(x)
        x = layers.Dropout(h.dropout)(x)
    return keras.Model(image, layers.Dense(classes, name="logits")(x), name="dense")
