"""predictions.parquet: what one contender says about every example of the test split.

It is the only thing about a contender that `trainer.compare` scores: whoever wrote it (a full
training, a baseline service), all contenders are measured by one program on one set of keys,
instead of each by its own service's metric.

Schema, one row per example of the test split, in any order:

    key            string          the example's key in the dataset, unique
    label          int32           true class, an index into the classes
    probabilities  list<float32>   one per class, in the order of the classes, summing to 1

    schema metadata  b"schema"   b"1"
                     b"classes"  JSON list of class names; class i is its i-th entry
"""

import json
from dataclasses import dataclass
from os import PathLike

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SCHEMA_VERSION = 1

# float32 softmax over thousands of classes sums to 1 within 1e-5; services that round their
# probabilities to four digits stay within this, logits and unnormalised scores do not.
SUM_TOLERANCE = 1e-3

_COLUMNS = {"key": pa.string(), "label": pa.int32(), "probabilities": pa.list_(pa.float32())}


class PredictionsError(ValueError):
    """A set of predictions that cannot be scored; the message says which rows and why."""


@dataclass(frozen=True)
class Predictions:
    """Predictions of one contender for n examples over c classes, checked when built.

    keys: (n,) object array of str, unique. labels: (n,) int32 in [0, c).
    probabilities: (n, c) float32 in [0, 1], each row summing to 1 within SUM_TOLERANCE.
    classes: c names. Raises PredictionsError when any of this does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    classes: tuple[str, ...]

    def __post_init__(self):
        # The arrays may come from any library's lists: one form here means one code path later.
        object.__setattr__(self, "keys", np.array([_text(key) for key in self.keys], dtype=object))
        object.__setattr__(self, "labels", np.asarray(self.labels, dtype=np.int32))
        object.__setattr__(self, "probabilities", np.asarray(self.probabilities, dtype=np.float32))
        object.__setattr__(self, "classes", tuple(str(name) for name in self.classes))
        self._check()

    def __len__(self) -> int:
        return len(self.keys)

    def _check(self) -> None:
        n, c = len(self.keys), len(self.classes)
        if c < 2:
            raise PredictionsError(f"{c} class(es) named; a classifier has at least 2")
        if n == 0:
            raise PredictionsError("there is not one row; the test split must not be empty")
        if self.labels.shape != (n,) or self.probabilities.shape != (n, c):
            raise PredictionsError(
                f"shapes do not fit: {n} keys, labels {self.labels.shape}, probabilities "
                f"{self.probabilities.shape} for {c} classes (expected ({n},) and ({n}, {c}))"
            )
        unique, counts = np.unique(self.keys, return_counts=True)
        self._refuse(counts > 1, unique, "key appears more than once")
        wrong_label = (self.labels < 0) | (self.labels >= c)
        self._refuse(wrong_label, self.keys, f"label is not a class index in 0..{c - 1}")
        self._refuse(
            ~np.isfinite(self.probabilities).all(axis=1),
            self.keys,
            "probabilities hold NaN or infinity (did the training diverge?)",
        )
        outside = (self.probabilities < 0) | (self.probabilities > 1 + SUM_TOLERANCE)
        self._refuse(outside.any(axis=1), self.keys, "a probability is outside [0, 1]")
        sums = self.probabilities.sum(axis=1, dtype=np.float64)
        self._refuse(
            np.abs(sums - 1) > SUM_TOLERANCE,
            self.keys,
            "probabilities do not sum to 1 (are they logits? apply softmax first)",
        )

    @staticmethod
    def _refuse(bad: np.ndarray, keys: np.ndarray, what: str) -> None:
        if bad.any():
            first = ", ".join(repr(key) for key in keys[bad][:3])
            raise PredictionsError(f"{what}: {int(bad.sum())} row(s), first keys {first}")


def _text(key) -> str:
    """TensorFlow hands out keys as bytes; the dataset stores them as UTF-8."""
    return key.decode("utf-8") if isinstance(key, bytes) else str(key)


def write(path: str | PathLike, predictions: Predictions) -> None:
    """Write predictions.parquet (schema in this module's docstring) to a local path.

    The file is built in memory and written in one go, because a Cloud Storage FUSE folder knows
    only whole objects and a reader must never see half a file.
    """
    n, c = predictions.probabilities.shape
    offsets = np.arange(0, (n + 1) * c, c, dtype=np.int32)
    table = pa.table(
        {
            "key": pa.array(predictions.keys, pa.string()),
            "label": pa.array(predictions.labels, pa.int32()),
            "probabilities": pa.ListArray.from_arrays(
                pa.array(offsets), pa.array(predictions.probabilities.ravel(), pa.float32())
            ),
        },
        metadata={"schema": str(SCHEMA_VERSION), "classes": json.dumps(predictions.classes)},
    )
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd")
    with open(path, "wb") as file:
        file.write(buffer.getvalue())


def read(path: str | PathLike) -> Predictions:
    """Read and check a predictions.parquet.

    Raises FileNotFoundError when there is none, PredictionsError when it does not hold what the
    schema says.
    """
    with open(path, "rb") as file:
        try:
            table = pq.read_table(pa.BufferReader(file.read()))
        except (pa.ArrowInvalid, OSError) as error:
            raise PredictionsError(f"not a readable Parquet file: {error}") from error
    classes = _classes(table.schema.metadata or {})
    columns = {name: _column(table, name, kind) for name, kind in _COLUMNS.items()}
    lengths = pc.list_value_length(columns["probabilities"])
    wrong = pc.not_equal(lengths, len(classes)).to_numpy(zero_copy_only=False)
    keys = columns["key"].to_numpy(zero_copy_only=False)
    Predictions._refuse(wrong, keys, f"not exactly {len(classes)} probabilities, one per class")
    return Predictions(
        keys=keys,
        labels=columns["label"].to_numpy(zero_copy_only=False),
        probabilities=columns["probabilities"]
        .flatten()
        .to_numpy(zero_copy_only=False)
        .reshape(-1, len(classes)),
        classes=classes,
    )


def _classes(metadata: dict[bytes, bytes]) -> tuple[str, ...]:
    version = metadata.get(b"schema", b"").decode()
    if version != str(SCHEMA_VERSION):
        raise PredictionsError(
            f"schema version {version or 'missing'!r} in the file's metadata; this program reads "
            f"{SCHEMA_VERSION} (written by trainer.predictions.write)"
        )
    try:
        classes = json.loads(metadata[b"classes"])
    except (KeyError, ValueError) as error:
        raise PredictionsError("no JSON list of class names in the file's metadata") from error
    return tuple(classes)


def _column(table: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    if name not in table.column_names:
        raise PredictionsError(f"no column {name!r}; the file has {', '.join(table.column_names)}")
    column = table.column(name)
    if column.null_count:
        raise PredictionsError(f"column {name!r} has {column.null_count} NULL(s)")
    try:
        # combine_chunks of a chunked array with no chunk at all would fail: concat handles both.
        return pa.concat_arrays(
            [chunk.cast(kind) for chunk in column.chunks] or [pa.array([], kind)]
        )
    except pa.ArrowInvalid as error:
        raise PredictionsError(f"column {name!r} cannot be read as {kind}: {error}") from error
