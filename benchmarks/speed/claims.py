"""What is often said of input pipelines, each claim beside what it is compared with: examples/s.

The peers are the pipeline of TensorFlow's guides (https://www.tensorflow.org/guide/data_performance)
and that pipeline with one mistake, on the dataset that ours reads: `late` caches what augmentation
has made, so every epoch has the same images; `early` prefetches examples, not batches; `bare` has
neither threads, cache nor prefetching. `originals` reads what cameras would leave, JPEG files of
500 x 400, in every epoch, beside the shards of 128 x 128 that an export made of them once. `files`
and `gzip` read the same records from another number of files, or packed.
"""

from contextlib import contextmanager

import cv2
import numpy as np
import tensorflow as tf

from benchmarks.datasets import make_dataset
from benchmarks.speed import inputs
from benchmarks.speed.inputs import BATCH, EPOCHS, FEATURES, later_rate
from trainer import dataset_description
from trainer.training import kept as places
from trainer.training.input_pipeline import Input
from trellis_contracts.hyperparameters import Hyperparameters

SIDE, CHANNELS, COUNT = 32, 3, 10_000
ORIGINAL = (400, 500)  # height, width
SHARDS = 16


def parse(record):
    found = tf.io.parse_single_example(record, FEATURES)
    return tf.io.decode_image(found["image"], CHANNELS, expand_animations=False), found["label"]


def augmented(image, label):
    image = tf.image.random_flip_left_right(image)
    padded = tf.pad(image, [[4, 4], [4, 4], [0, 0]])
    return tf.image.random_crop(padded, [SIDE, SIDE, CHANNELS]), label


def _records(files, **options):
    found = tf.data.Dataset.from_tensor_slices(files)
    return found.interleave(
        lambda file: tf.data.TFRecordDataset(file, **options), num_parallel_calls=tf.data.AUTOTUNE
    )


def good(files, examples):
    parsed = _records(files).map(parse, tf.data.AUTOTUNE).cache().shuffle(examples)
    batches = parsed.map(augmented, tf.data.AUTOTUNE).batch(BATCH, drop_remainder=True)
    return batches.repeat(EPOCHS).prefetch(tf.data.AUTOTUNE)


def cached_late(files, examples):
    parsed = _records(files).map(parse, tf.data.AUTOTUNE).map(augmented, tf.data.AUTOTUNE)
    batches = parsed.cache().shuffle(examples).batch(BATCH, drop_remainder=True)
    return batches.repeat(EPOCHS).prefetch(tf.data.AUTOTUNE)


def prefetched_early(files, examples):
    parsed = _records(files).map(parse, tf.data.AUTOTUNE).cache().shuffle(examples)
    varied = parsed.map(augmented, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    return varied.batch(BATCH, drop_remainder=True).repeat(EPOCHS)


def without_any(files, examples):
    varied = tf.data.TFRecordDataset(files).map(parse).shuffle(examples).map(augmented)
    return varied.batch(BATCH, drop_remainder=True).repeat(EPOCHS)


@contextmanager
def _beside(scratch, peer):
    """Ours, with the same augmentation, beside a peer; the limit is the good pipeline."""
    address = make_dataset(scratch / "d", SIDE, CHANNELS, COUNT, "png")
    dataset = dataset_description.load(address)
    examples = dataset.examples("train")
    steps = examples // BATCH
    files = [str(path) for path in sorted((scratch / "d").glob("train*"))]

    def ours():
        places.places = lambda size: [places.MEMORY]
        h = Hyperparameters(batch_size=BATCH, augment=True, flip=True)
        data = Input(address, dataset, inputs.ONE_PROCESS, h, 0, EPOCHS)
        return later_rate(data.train_batches(tf.distribute.InputContext(), 0), steps)

    yield {
        "ours": ours,
        "peer": lambda: later_rate(peer(files, examples), steps),
        "limit": lambda: later_rate(good(files, examples), steps),
    }


def late(scratch):
    return _beside(scratch, cached_late)


def early(scratch):
    return _beside(scratch, prefetched_early)


def bare(scratch):
    return _beside(scratch, without_any)


@contextmanager
def originals(scratch, side=128, count=1_500):
    address = make_dataset(scratch / "d", side, 3, count, "jpeg")
    dataset = dataset_description.load(address)
    steps = dataset.examples("train") // BATCH
    random = np.random.default_rng(0)
    (scratch / "originals").mkdir()
    files = [str(scratch / "originals" / f"{place}.jpg") for place in range(steps * BATCH)]
    for file in files:
        coarse = random.integers(0, 256, (50, 62, 3)).astype(np.uint8)
        cv2.imwrite(file, cv2.resize(coarse, ORIGINAL[::-1]))

    def load(file):
        image = tf.io.decode_jpeg(tf.io.read_file(file), 3)
        return tf.image.resize(image, (side, side))

    def each_epoch():
        shuffled = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
        batches = shuffled.map(load, tf.data.AUTOTUNE).batch(BATCH, drop_remainder=True)
        return later_rate(batches.repeat(EPOCHS).prefetch(tf.data.AUTOTUNE), steps)

    yield {
        "ours": lambda: later_rate(inputs.our_batches(address, dataset, None), steps),
        "peer": each_epoch,
    }


@contextmanager
def _stored(scratch, count, compression):
    """Reading and parsing what ours writes, beside the same records in `count` files."""
    make_dataset(scratch / "d", SIDE, CHANNELS, COUNT, "png")
    found = sorted((scratch / "d").glob("train*"))
    records = [one.numpy() for one in tf.data.TFRecordDataset(list(map(str, found)))]

    def write(name, number, packed):
        files = [str(scratch / f"{name}-{place}") for place in range(number)]
        for place, file in enumerate(files):
            with tf.io.TFRecordWriter(file, packed) as out:
                for record in records[place::number]:
                    out.write(record)
        return files

    ours, peer = write("ours", SHARDS, ""), write("peer", count, compression)
    steps = len(records) // BATCH

    def rate(files, packed):
        parsed = _records(files, compression_type=packed).map(parse, tf.data.AUTOTUNE)
        batches = parsed.batch(BATCH, drop_remainder=True).repeat(EPOCHS)
        return later_rate(batches.prefetch(tf.data.AUTOTUNE), steps)

    yield {"ours": lambda: rate(ours, ""), "peer": lambda: rate(peer, compression)}


def files(scratch):
    return _stored(scratch, 1, "")


def gzip(scratch):
    return _stored(scratch, SHARDS, "GZIP")
