"""The peer of trainer.task: Keras' `fit` on arrays in memory.

`python -m benchmarks.speed.keras_fit DATASET MODEL [--eagerly]` prints examples a second of the
epochs after the first, validation included.
"""

import statistics
import sys
import time

import keras
import numpy as np
import tensorflow as tf

from benchmarks.speed.fitting import BATCH, EPOCHS
from benchmarks.speed.inputs import ONE_PROCESS
from trainer import dataset_description, models
from trainer.training.input_pipeline import Input
from trellis_contracts.hyperparameters import Hyperparameters


class Seconds(keras.callbacks.Callback):
    """The duration of each epoch."""

    def __init__(self):
        super().__init__()
        self.epochs = []

    def on_epoch_begin(self, epoch, logs=None):
        self._begun = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(time.perf_counter() - self._begun)


def arrays(data, split):
    """The decoded inputs and labels of a split."""
    batches = data.evaluation_batches(tf.distribute.InputContext(), split)
    taken = list(batches.take(data.evaluation_steps(split)))
    inputs = tf.nest.map_structure(lambda *parts: np.concatenate(parts), *(b[0] for b in taken))
    labels, weights = (np.concatenate([batch[place] for batch in taken]) for place in (1, 2))
    real = weights > 0
    return tf.nest.map_structure(lambda values: values[real], inputs), labels[real]


def main(address, name, eagerly):
    dataset = dataset_description.load(address)
    h = Hyperparameters(batch_size=BATCH)
    data = Input(address, dataset, ONE_PROCESS, h, 0, 1)
    train, held_out = arrays(data, "train"), arrays(data, "validation")
    model = models.build(name, dataset, h)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"], run_eagerly=eagerly)
    seconds = Seconds()
    model.fit(*train, BATCH, EPOCHS, verbose=0, validation_data=held_out, callbacks=[seconds])
    print(len(train[1]) / statistics.median(seconds.epochs[1:]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "--eagerly" in sys.argv[3:])
