"""Converts raw rows, as clients send them, to a model's inputs; part of an exported model.

A raw row has one tensor for each feature, named like its column (`input_names`):

    numeric      (n,) float64        NaN: NULL
    boolean      (n,) float64        0 or 1; NaN: NULL
    categorical  (n,) string, UTF-8  b"\\xff", which is not UTF-8: NULL; an empty string is a term
    timestamp    (n,) int64          microseconds since 1970 UTC; -2**63: NULL
    sequence     (n, any) float64    NaN: no element (padding, or NULL within)
    text         (n,) string, UTF-8  b"\\xff": NULL, which is the same as no word
    image        (n,) string         JPEG, PNG, BMP or GIF of any size, upright and opaque; with
                                     source.scale, PNG with 16 bits per channel. In `pixels`:
                                     (n, height, width, channels) as trainer.images makes them

The conversion is that of the export: numbers become float32, terms their codes by the vocabulary,
and words their numbers (trainer.text).
A few operations convert all columns at once.
"""

import keyword
from collections.abc import Collection, Iterable, Mapping, Sequence

import tensorflow as tf

from trainer import preprocessing, text
from trainer.models.inputs import image_input, sequence_input, text_input
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    FIRST_TERM,
    IMAGE,
    NULL_TERM,
    NULL_TEXT,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    UNKNOWN_TERM,
    Feature,
)

_TYPES = {
    NUMERIC: tf.float64,
    BOOLEAN: tf.float64,
    CATEGORICAL: tf.string,
    TIMESTAMP: tf.int64,
    SEQUENCE: tf.float64,
    TEXT: tf.string,
    IMAGE: tf.string,
}

INDEX = "index"
"""The input of the signature `gradient` that says of which class; no column's, beside images."""


def input_names(columns: Sequence[str], reserved: Collection[str] = ()) -> list[str]:
    """Names of the inputs for columns: the columns' names, changed where TensorFlow requires it, or
    where they are reserved.

    They become parameters of Python functions, so they begin with a letter and are not keywords
    (nor `self`): `_id` becomes `x_id`, `class` becomes `class_`.
    """
    names: list[str] = []
    for column in columns:
        name = f"x{column}" if column.startswith("_") else column
        if keyword.iskeyword(name) or name == "self" or name in reserved:
            name += "_"
        while name in names or (name != column and name in columns):
            name += "_"
        names.append(name)
    return names


class RawRows(tf.Module):
    """Converts one dataset's features. names: of the inputs, in the order of the features."""

    def __init__(self, dataset: DatasetDescription):
        super().__init__()
        self._features = dataset.features
        columns = [feature.column for feature in dataset.features]
        self.names = input_names(columns, [INDEX] if self._of(IMAGE) else [])
        self._name = dict(zip(columns, self.names, strict=True))
        self._terms = _Terms(self._of(CATEGORICAL))

    @property
    def images(self) -> dict[str, Feature]:
        """The image features, by the names of their inputs."""
        return {self._name[each.column]: each for each in self._of(IMAGE)}

    def signature(self) -> dict[str, tf.TensorSpec]:
        """Types and shapes of the inputs; of an image, of its file."""
        return {
            name: tf.TensorSpec(
                [None, None] if feature.kind == SEQUENCE else [None], _TYPES[feature.kind], name
            )
            for feature, name in zip(self._features, self.names, strict=True)
        }

    def pixel_signature(self, dtype: str | None = None) -> dict[str, tf.TensorSpec]:
        """Types and shapes with pixels in place of files. dtype: theirs; None: the features'."""
        return self.signature() | {
            name: tf.TensorSpec([None, *feature.image_shape], dtype or feature.dtype, name)
            for name, feature in self.images.items()
        }

    def inputs(self, columns: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Raw columns by input name -> the inputs of trainer.models.inputs. Images: files, or
        pixels.
        """

        def stack(features: Iterable[Feature]) -> tf.Tensor:
            return tf.stack([columns[self._name[feature.column]] for feature in features], 1)

        inputs = {}
        if numbers := self._of(NUMERIC, BOOLEAN):
            inputs[NUMERIC] = tf.cast(stack(numbers), tf.float32)
        if times := self._of(TIMESTAMP):
            inputs[TIMESTAMP] = stack(times)
        if terms := self._of(CATEGORICAL):
            inputs[CATEGORICAL] = self._terms.ids(stack(terms))
        for feature in self._of(SEQUENCE):
            inputs[sequence_input(feature)] = tf.cast(
                columns[self._name[feature.column]], tf.float32
            )
        for feature in self._of(TEXT):
            texts = columns[self._name[feature.column]]
            known = tf.where(texts == NULL_TEXT, "", texts)
            inputs[text_input(feature)] = text.numbers(known).to_tensor(0)
        for name, feature in self.images.items():
            given = columns[name]
            if given.dtype == tf.string:
                given = preprocessing.decode_any_size(given, feature)
            inputs[image_input(feature)] = given
        return inputs

    def _of(self, *kinds: str) -> list[Feature]:
        return [feature for feature in self._features if feature.kind in kinds]


class _Terms(tf.Module):
    """A lookup table with the terms of all categorical features."""

    def __init__(self, features: Sequence[Feature]):
        super().__init__()
        # FEATURE:TERM is unambiguous, as a feature's number has no colon.
        self._prefixes = [f"{index}:".encode() for index in range(len(features))]
        places = {
            prefix + term.encode(): FIRST_TERM + place
            for prefix, feature in zip(self._prefixes, features, strict=True)
            for place, term in enumerate(feature.terms)
        }
        places |= {prefix + NULL_TEXT: NULL_TERM for prefix in self._prefixes}
        if places:
            self._table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(
                    list(places), list(places.values()), tf.string, tf.int64
                ),
                default_value=UNKNOWN_TERM,
            )

    def ids(self, texts: tf.Tensor) -> tf.Tensor:
        """(n, c) string -> (n, c) int64 codes."""
        prefixes = tf.broadcast_to(tf.constant([self._prefixes]), tf.shape(texts))
        return self._table.lookup(tf.strings.join([prefixes, texts]))
