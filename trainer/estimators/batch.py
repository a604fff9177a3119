"""Examples as a group's own `fit` and `predict` get them, in the form that its library wants.

Whatever they come from, the records of a dataset in training or a request in serving, equal values
give equal batches: numbers as float32, terms by their place in the vocabulary, and the elements of
a sequence up to its last known one.

    batch.pandas()   DataFrame: numeric float32; boolean float32, 0 or 1; categorical pandas'
                     Categorical of the vocabulary's terms and UNKNOWN, which stands for all others;
                     timestamp datetime64[us, UTC]; sequence arrays of float32; text str. NULL is
                     NaN, NaT or the empty sequence or text
    batch.arrow()    the same as a pyarrow.Table; NULL is null
    batch.numpy()    (n, features) float64: numeric and boolean as above; categorical the term's
                     place in the vocabulary, -1 if it is unknown; timestamp seconds since 1970.
                     NULL is NaN. Sequences and texts are no numbers, and left out
    batch.images()   (n, height, width, channels) uint8, or uint16 of images with a scale

All are of the columns that are no images, in the order of batch.names, except batch.images().
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trainer.stored import StoredBatch
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    FIRST_TERM,
    IMAGE,
    NULL_TERM,
    NULL_TEXT,
    NULL_TIMESTAMP,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    UNKNOWN_TERM,
    VECTORS,
    Feature,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

UNKNOWN = "(unknown)"
"""The category of a term that is not in the vocabulary."""

_LIST = {NUMERIC: "float_list", CATEGORICAL: "int64_list", TIMESTAMP: "int64_list"}
_MICROSECONDS = 1e6


class Batch:
    """n examples. features: of the dataset, in its order. columns: by the feature's name, (n, ...)
    each: numbers float32, terms codes as in a record int64, times int64 microseconds, sequences
    arrays of float32, texts str, images pixels.
    """

    def __init__(self, features: Sequence[Feature], columns: Mapping[str, Any]):
        self.features = tuple(features)
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns[self.features[0].name])

    @property
    def names(self) -> list[str]:
        """Names of the columns, without the images'."""
        return [feature.name for feature in self._values()]

    def pandas(self) -> "pd.DataFrame":
        """See the module's docstring."""
        import pandas as pd

        def series(feature: Feature) -> Any:
            column = self._columns[feature.name]
            if feature.kind == CATEGORICAL:
                codes = np.where(column == NULL_TERM, -1, column - UNKNOWN_TERM)
                return pd.Categorical.from_codes(codes, [unknown(feature), *feature.terms])
            if feature.kind == TIMESTAMP:
                times = column.astype("datetime64[us]")  # -2**63 is NaT
                return pd.Series(times).dt.tz_localize("UTC")
            if feature.kind in (SEQUENCE, TEXT):
                return pd.Series(column, dtype=object)
            return column

        return pd.DataFrame({feature.name: series(feature) for feature in self._values()})

    def arrow(self) -> "pa.Table":
        """See the module's docstring."""
        import pyarrow as pa

        def array(feature: Feature) -> Any:
            column = self._columns[feature.name]
            if feature.kind == CATEGORICAL:
                terms = pa.array([unknown(feature), *feature.terms])
                places = pa.array(column - UNKNOWN_TERM, pa.int32(), mask=column == NULL_TERM)
                return pa.DictionaryArray.from_arrays(places, terms)
            if feature.kind == TIMESTAMP:
                kind = pa.timestamp("us", "UTC")
                return pa.array(column, pa.int64(), mask=column == NULL_TIMESTAMP).cast(kind)
            if feature.kind == SEQUENCE:
                return pa.array(list(column), pa.list_(pa.float32()))
            if feature.kind == TEXT:
                return pa.array(list(column), pa.string())
            return pa.array(column, pa.float32(), from_pandas=True)

        return pa.table({feature.name: array(feature) for feature in self._values()})

    def numpy(self) -> np.ndarray:
        """See the module's docstring."""
        found = [self._numbers(feature) for feature in self._values() if is_number(feature)]
        return np.stack(found, axis=1) if found else np.zeros((len(self), 0))

    def images(self, name: str | None = None) -> np.ndarray:
        """Pixels of a feature; name: None if the examples have one image. Raises KeyError."""
        known = [feature.name for feature in self.features if feature.kind == IMAGE]
        if name is None and len(known) == 1:
            (name,) = known
        if name not in known:
            raise KeyError(f"there is no image {name!r}; the images are {', '.join(known)}")
        found: np.ndarray = self._columns[name]
        return found

    def column(self, name: str) -> Any:
        """The values of a feature, as the class's docstring says."""
        return self._columns[name]

    def _values(self) -> list[Feature]:
        return [feature for feature in self.features if feature.kind != IMAGE]

    def _numbers(self, feature: Feature) -> np.ndarray:
        column = self._columns[feature.name].astype(np.float64)
        if feature.kind == CATEGORICAL:
            return np.where(column == NULL_TERM, np.nan, column - FIRST_TERM)
        if feature.kind == TIMESTAMP:
            return np.where(column == NULL_TIMESTAMP, np.nan, column / _MICROSECONDS)
        return column


class Examples(Batch):
    """Examples with their answers.

    keys: (n,) str. labels: (n,) int64 class indices; of a multi-label task (n, classes) bool; of a
    regression (n,) float64 in the label's unit. weights: (n,) float64, 1 on average over the train
    split; all 1 where the source has none.
    """

    def __init__(
        self,
        batch: Batch,
        keys: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
    ):
        super().__init__(batch.features, batch._columns)
        self.keys, self.labels, self.weights = keys, labels, weights


def is_number(feature: Feature) -> bool:
    """Return whether `Batch.numpy` has a column for the feature."""
    return feature.kind not in (SEQUENCE, TEXT, IMAGE)


def unknown(feature: Feature) -> str:
    """UNKNOWN, or what stands for it where it is one of the terms."""
    name = UNKNOWN
    while name in feature.terms:
        name = f"({name})"
    return name


def of_stored(stored: StoredBatch, features: Sequence[Feature]) -> Batch:
    """The batch of a dataset's records. features: those that are read."""
    vectors = {
        name: _vector(stored, name)
        for name in VECTORS
        if any(feature.record_name == name for feature in features)
    }

    def column(feature: Feature) -> Any:
        if feature.record_name in vectors:
            return vectors[feature.record_name][:, feature.index]
        name = feature.record_name
        if feature.kind == SEQUENCE:
            found = [np.array(each[name].float_list.value, np.float32) for each in stored.features]
            return _sequences(found, feature)
        contents = [b"".join(each[name].bytes_list.value[:1]) for each in stored.features]
        if feature.kind == TEXT:
            return np.array([content.decode() for content in contents], dtype=object)
        return _pixels(contents, feature)

    return Batch(features, {feature.name: column(feature) for feature in features})


class RawRows:
    """Makes batches of raw columns by the feature's name, as trainer.serving.columns makes them of
    requests.
    """

    def __init__(self, features: Sequence[Feature]):
        self._features = features
        self._codes = {
            feature.name: {
                **{term.encode(): FIRST_TERM + i for i, term in enumerate(feature.terms)},
                NULL_TEXT: NULL_TERM,
            }
            for feature in features
            if feature.kind == CATEGORICAL
        }

    def batch(self, columns: Mapping[str, np.ndarray]) -> Batch:
        """The batch of (n, ...) columns."""
        found = {
            feature.name: self._column(feature, columns[feature.name]) for feature in self._features
        }
        return Batch(self._features, found)

    def _column(self, feature: Feature, given: np.ndarray) -> Any:
        if feature.kind in (NUMERIC, BOOLEAN):
            return given.astype(np.float32)
        if feature.kind == CATEGORICAL:
            codes = self._codes[feature.name]
            return np.array([codes.get(term, UNKNOWN_TERM) for term in given], np.int64)
        if feature.kind == SEQUENCE:
            return _sequences(given.astype(np.float32), feature)
        if feature.kind == TEXT:
            texts = ["" if text == NULL_TEXT else text.decode() for text in given]
            return np.array(texts, dtype=object)
        return given


def _vector(stored: StoredBatch, name: str) -> np.ndarray:
    """(n, size) of a vector of the records."""
    kind = np.float32 if name == NUMERIC else np.int64
    rows = [getattr(each[name], _LIST[name]).value for each in stored.features]
    return np.array([list(row) for row in rows], kind)


def _sequences(rows: Any, feature: Feature) -> np.ndarray:
    """Sequences up to the longest of the train split, without unknown elements at their ends: a
    request's are filled up with these.
    """
    found = np.empty(len(rows), dtype=object)
    for place, row in enumerate(rows):
        known = np.flatnonzero(~np.isnan(row[: max(1, feature.longest)]))
        found[place] = row[: known[-1] + 1] if len(known) else row[:0]
    return found


def _pixels(contents: Sequence[bytes], feature: Feature) -> np.ndarray:
    # Imports OpenCV.
    from trainer.images import Scale, pixels

    scale = None if feature.scale is None else Scale("full")
    return np.stack([pixels(each, feature.image_shape, scale=scale) for each in contents])
