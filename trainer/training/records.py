"""Parses the records of a dataset into a model's inputs (trainer.models.inputs) and labels.

All functions work on whole batches, which is ten times faster than one record at a time.
"""

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import tensorflow as tf

from trainer import preprocessing, text
from trainer.models.inputs import image_input, sequence_input, text_input
from trellis_contracts import decoded
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE, SEQUENCE, TEXT, VECTORS, Feature

# Records parsed per call, and their size: enough to hide the cost of a call.
_PARSE_RECORDS = 4096
_PARSE_BYTES = 16 << 20

Inputs = dict[str, tf.Tensor]
"""A batch as a model takes it, by the names of trainer.models.inputs."""

# For functions of tf.data: AutoGraph would search them for control flow, of which they have none.
do_not_convert = tf.autograph.experimental.do_not_convert


def keyed(dataset: DatasetDescription, names: Collection[str] | None = None) -> "Records":
    """A reader of the same records, whose labels are the examples' keys (b,) string."""
    reader = Records(dataset, names)
    reader.take_as_label("key", tf.string)
    return reader


class Records:
    """Reads records; inputs are a dict. names: those of the inputs that it has; None: all.
    example_bytes: maximum size of a parsed example in memory.

    Sequences are padded with NaN to the batch's longest, the numbers of texts with 0.
    """

    def __init__(self, dataset: DatasetDescription, names: Collection[str] | None = None):
        self._label = dataset.label.name
        self._label_type = tf.as_dtype(dataset.label.dtype)
        self._label_values = dataset.label.values
        self._mask = dataset.label.shape[:-1]
        self._weight = dataset.weight
        types = {"numeric": tf.float32, "categorical": tf.int64, "timestamp": tf.int64}
        self._vectors = {
            name: tf.io.FixedLenFeature([size], types[name])
            for name, kinds in VECTORS.items()
            if (size := len(dataset.features_of(*kinds))) and (names is None or name in names)
        }

        def taken(kind: str, input_of: Callable[[Feature], str]) -> list[Feature]:
            features = dataset.features_of(kind)
            return [each for each in features if names is None or input_of(each) in names]

        sequences, texts = taken(SEQUENCE, sequence_input), taken(TEXT, text_input)
        self._sequences = {feature.record_name: sequence_input(feature) for feature in sequences}
        self._texts = {feature.record_name: text_input(feature) for feature in texts}
        self._images = taken(IMAGE, image_input)
        vectors = [one for name in self._vectors for one in dataset.features_of(*VECTORS[name])]
        features = [*vectors, *sequences, *texts, *self._images]
        self.example_bytes = decoded.example_bytes(features, dataset.label)

    def take_as_label(self, name: str, kind: tf.DType) -> None:
        """Return this field of a record in place of its label."""
        self._label, self._label_type, self._label_values = name, kind, 1
        self._mask = ()

    def parse(self, serialized: tf.Tensor) -> tuple[Inputs, tf.Tensor, tf.Tensor]:
        """Serialized records (b,) -> inputs, labels (b,), of a time to an event (b, 2), of masks
        (b, height, width) uint8, weights (b,) float32: what each example counts in the loss, 1 on
        average over the train split.
        """
        inputs, labels, weights = self._parse(serialized)
        return self.padded(inputs), labels, weights

    def inputs(self, serialized: tf.Tensor) -> Inputs:
        """Serialized records (b,), with or without a label -> inputs."""
        return self.padded(self._inputs(tf.io.parse_example(serialized, self._specification())))

    def blank(self) -> bytes:
        """A serialized record to fill up batches with."""
        features = {}
        for name, vector in self._vectors.items():
            features[name] = numbers(np.zeros(vector.shape), vector.dtype)
        features |= {
            each.record_name: _blank_png(each.image_shape, each.dtype) for each in self._images
        }
        if self._weight:
            features[self._weight.name] = numbers(np.zeros(1), tf.float32)
        if self._mask:
            label = _blank_png((*self._mask, 1), tf.uint8)
        else:
            label = numbers(np.zeros(self._label_values), self._label_type)
        return example(features | {self._label: label})

    def batches(self, records: tf.data.Dataset) -> tf.data.Dataset:
        """Batches as `parse` returns them, of inputs that may be ragged: all records, in order."""
        size = max(1, min(_PARSE_RECORDS, _PARSE_BYTES // self.example_bytes))
        return records.batch(size).map(do_not_convert(self._parse), tf.data.AUTOTUNE)

    def padded(self, inputs: dict[str, Any]) -> Inputs:
        """Inputs of `batches` as `parse` returns them."""
        return {
            name: value.to_tensor(math.nan if value.dtype.is_floating else 0)
            if isinstance(value, tf.RaggedTensor)
            else value
            for name, value in inputs.items()
        }

    def _specification(self) -> dict:
        ragged = {name: tf.io.RaggedFeature(tf.float32) for name in self._sequences}
        texts = {name: tf.io.FixedLenFeature([], tf.string, "") for name in self._texts}
        images = {each.record_name: tf.io.FixedLenFeature([], tf.string) for each in self._images}
        return self._vectors | ragged | texts | images

    def _parse(self, serialized: tf.Tensor) -> tuple:
        """Parse like `parse`, with inputs that may be ragged."""
        shape = [self._label_values] if self._label_values > 1 else []
        stored = tf.string if self._mask else self._label_type
        scalars = {self._label: tf.io.FixedLenFeature(shape, stored)}
        if self._weight:
            scalars[self._weight.name] = tf.io.FixedLenFeature([], tf.float32)
        parsed = tf.io.parse_example(serialized, self._specification() | scalars)
        labels = parsed[self._label]
        if self._mask:
            labels = preprocessing.decode_masks(labels, self._mask)
        if self._weight is None:
            weights = tf.ones([tf.shape(labels)[0]], tf.float32)
            return self._inputs(parsed), labels, weights
        # Divided by the train split's mean, so that a learning rate means what it does without
        # weights, and their unit nothing.
        weights = parsed[self._weight.name] / self._weight.statistics.mean
        return self._inputs(parsed), labels, weights

    def _inputs(self, parsed: dict) -> dict:
        vectors = {name: parsed[name] for name in self._vectors}
        sequences = {name: parsed[stored] for stored, name in self._sequences.items()}
        texts = {name: text.numbers(parsed[stored]) for stored, name in self._texts.items()}
        images = {
            image_input(each): preprocessing.decode(parsed[each.record_name], each)
            for each in self._images
        }
        return vectors | sequences | texts | images


def _blank_png(shape: tuple[int, ...], dtype: str | tf.DType) -> tf.train.Feature:
    png = tf.io.encode_png(tf.zeros(shape, dtype)).numpy()
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[png]))


def example(features: dict[str, tf.train.Feature]) -> bytes:
    """A serialized record."""
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def numbers(values: np.ndarray, kind: tf.DType) -> tf.train.Feature:
    """A vector of a record. kind: tf.int64 or tf.float32."""
    if kind.is_integer:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values.astype(np.int64)))
    return tf.train.Feature(float_list=tf.train.FloatList(value=values.astype(np.float32)))
