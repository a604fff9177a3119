"""Examples a second out of the input pipeline, with all cores.

All candidates give batches of 64 for three epochs, of which the last two are timed. Batches are
taken within a TensorFlow function, as a training takes them: Python's `next` alone would be the
limit of small images (tens of microseconds for each tensor of a batch). In `streamed`
and `large` nothing is kept in memory: every epoch reads, parses and decodes. In `small` and `kept`
the decoded images are, as they are of every share that fits in memory: reading is not decoding
there. The limit of `small` reads records and does nothing with them; that of `kept` takes the same
batches out of one NumPy array. Of `first` the first epoch is timed, once of few images and once of
many: the rate is that of the images beyond the few, so the pipeline's start does not count. Its
limit is the same of ours in the later epochs.
"""

import collections
import functools
import itertools
import os
import time
from contextlib import contextmanager
from types import SimpleNamespace

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from benchmarks.datasets import make_dataset
from trainer import dataset_description
from trainer.training import kept as places
from trainer.training.input_pipeline import Input
from trellis_contracts.hyperparameters import Hyperparameters

BATCH, EPOCHS = 64, 3
FEW, MANY = 4_000, 12_000
ONE_PROCESS = SimpleNamespace(cluster=range(1), local_replicas=1, replicas=1)
FEATURES = {"image": tf.io.FixedLenFeature([], tf.string)}
FEATURES |= {"label": tf.io.FixedLenFeature([], tf.int64)}


def first_rate(batches, steps):
    """Batches' examples a second of the first epoch of `steps` batches."""
    take = taking(batches)
    start = time.perf_counter()
    take(iter(batches), steps)
    return steps * BATCH / (time.perf_counter() - start)


def later_rate(batches, steps):
    """Rate of the last two of EPOCHS epochs."""
    take, iterator = taking(batches), iter(batches)
    take(iterator, steps)
    start = time.perf_counter()
    take(iterator, steps * (EPOCHS - 1))
    return steps * (EPOCHS - 1) * BATCH / (time.perf_counter() - start)


def taking(batches):
    """A function of an iterator and a number of batches to take."""
    if not isinstance(batches, tf.data.Dataset):
        return lambda iterator, count: collections.deque(itertools.islice(iterator, count), 0)

    @tf.function
    def take(iterator, count):
        for _ in tf.range(count):
            next(iterator)

    spec = tf.data.IteratorSpec(batches.element_spec)
    traced = take.get_concrete_function(spec, tf.TensorSpec([], tf.int32))
    return lambda iterator, count: traced(iterator, tf.constant(count))


def our_batches(address, dataset, kept):
    """The trainer's batches of EPOCHS epochs. kept: the place of their decoded images; None:
    nowhere.
    """
    places.places = lambda size: [kept] if kept else []
    h = Hyperparameters(batch_size=BATCH)
    data = Input(address, dataset, ONE_PROCESS, h, 0, EPOCHS)
    return data.train_batches(tf.distribute.InputContext(), 0)


def alone(address, kept):
    """Rate of the trainer's input by itself."""
    dataset = dataset_description.load(address)
    return later_rate(our_batches(address, dataset, kept), dataset.examples("train") // BATCH)


@contextmanager
def candidates(scratch, side, channels, count, encoding, limit, kept=None, rate=later_rate):
    address = make_dataset(scratch / "d", side, channels, count, encoding)
    dataset = dataset_description.load(address)
    files = [str(path) for path in sorted((scratch / "d").glob("train*"))]
    examples = dataset.examples("train")
    steps = examples // BATCH

    def ours(rate=rate):
        return rate(our_batches(address, dataset, kept), steps)

    def parse(record):
        found = tf.io.parse_single_example(record, FEATURES)
        return tf.io.decode_image(found["image"], channels, expand_animations=False), found["label"]

    def naive():
        records = tf.data.TFRecordDataset(files)
        if kept:
            parsed = records.map(parse, tf.data.AUTOTUNE).cache().shuffle(examples)
        else:
            parsed = records.shuffle(examples).map(parse, tf.data.AUTOTUNE)
        batches = parsed.batch(BATCH, drop_remainder=True)
        return rate(batches.repeat(EPOCHS).prefetch(2), steps)

    def reading():
        records = tf.data.TFRecordDataset(files, buffer_size=4 << 20).batch(BATCH, True)
        return later_rate(records.repeat(EPOCHS), steps)

    records = tf.data.TFRecordDataset(files)
    stored = [tf.io.parse_single_example(record, FEATURES)["image"].numpy() for record in records]

    def decoding():
        images = tf.data.Dataset.from_tensor_slices(stored).map(
            lambda data: tf.io.decode_image(data, channels, expand_animations=False),
            tf.data.AUTOTUNE,
        )
        batches = images.batch(BATCH, drop_remainder=True).repeat(EPOCHS).prefetch(2)
        return later_rate(batches, steps)

    def gathering():
        pixels = np.zeros((examples, side, side, channels), np.uint8)
        order = np.random.default_rng(0).permutation(examples)[: steps * BATCH].reshape(-1, BATCH)
        return later_rate((pixels[p] for _ in range(EPOCHS) for p in order), steps)

    def later():
        return ours(later_rate)

    known = (reading, decoding, gathering, later)
    limits = {function.__name__: function for function in known}
    yield {"ours": ours, "peer": naive, "limit": limits[limit]}


def small(scratch):
    return candidates(scratch, 8, 1, 40_000, "png", "reading", places.MEMORY)


def streamed(scratch):
    return candidates(scratch, 8, 1, 40_000, "png", "decoding")


def kept(scratch):
    return candidates(scratch, 32, 3, 20_000, "png", "gathering", places.MEMORY)


def large(scratch):
    return candidates(scratch, 128, 3, 4_000, "jpeg", "decoding")


@contextmanager
def first(scratch):
    folders = {count: scratch / str(count) for count in (FEW, MANY)}
    for folder in folders.values():
        folder.mkdir()

    def sized(count):
        return candidates(folders[count], 128, 3, count, "jpeg", "later", rate=first_rate)

    with sized(FEW) as few, sized(MANY) as many:
        # make_dataset gives the train split four fifths, which both times are full batches.
        examples = {count: count * 4 // 5 for count in (FEW, MANY)}

        def beyond(name):
            seconds = examples[MANY] / many[name]() - examples[FEW] / few[name]()
            return (examples[MANY] - examples[FEW]) / seconds

        yield {name: functools.partial(beyond, name) for name in ("ours", "peer", "limit")}
