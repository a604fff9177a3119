"""predictions.parquet: a contender's predictions for every example of the test split.

`trainer.compare` scores nothing else: all contenders, full trainings and baselines of services, are
scored by one program on the same keys, not by metrics of their own services.

trellis_contracts.predictions has columns and metadata.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trainer.metrics.decision import Threshold
from trellis_contracts.documents import ContractError
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.tasks import (
    MULTILABEL,
    MULTILABEL_MAX_CLASSES,
    REGRESSION,
    SEGMENTATION,
    SURVIVAL,
)
from trellis_contracts.withheld import RowsError, quoted

# float32 softmax over thousands of classes sums to 1 within 1e-5; services that round their
# probabilities to four digits stay within this, logits and unnormalised scores do not.
SUM_TOLERANCE = 1e-3
# Of float32 probabilities that are sums of logarithms.
_ROUNDING = 1e-5


class RuleError(RowsError, ValueError):
    """Predictions break a rule. rule: its name in trellis_contracts.program.terms.RULES."""

    def __init__(self, message: str, rule: str = "form") -> None:
        super().__init__(message)
        self.rule = rule


class PredictionsError(RuleError):
    """A set of predictions that cannot be scored; the message says which rows and why."""


@dataclass(frozen=True)
class Predictions:
    """Predictions of one contender for n examples over c classes, checked when built.

    keys: (n,) object array of str, unique. labels: (n,) int32 in [0, c).
    probabilities: (n, c) float32 in [0, 1], each row summing to 1 within SUM_TOLERANCE.
    classes: c names. threshold: between two classes; None: the most probable one is decided
    (trainer.metrics.decision). Raises PredictionsError when any of this does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    classes: tuple[str, ...]
    threshold: Threshold | None = None

    def __post_init__(self):
        # The arrays may come from any library; convert them to one form.
        object.__setattr__(self, "keys", _texts(self.keys))
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
        if self.threshold is not None and c != 2:
            raise PredictionsError(f"a threshold between {c} classes; one decides between 2")
        if self.labels.shape != (n,) or self.probabilities.shape != (n, c):
            raise PredictionsError(
                f"shapes do not fit: {n} keys, labels {self.labels.shape}, probabilities "
                f"{self.probabilities.shape} for {c} classes (expected ({n},) and ({n}, {c}))"
            )
        _check_keys(self.keys)
        wrong_label = (self.labels < 0) | (self.labels >= c)
        _refuse(wrong_label, self.keys, "labels", f"label is not a class index in 0..{c - 1}")
        _refuse(
            ~np.isfinite(self.probabilities).all(axis=1),
            self.keys,
            "finite",
            "probabilities hold NaN or infinity (did the training diverge?)",
        )
        low, high = self.probabilities.min(axis=1), self.probabilities.max(axis=1)
        _refuse(
            (low < 0) | (high > 1 + SUM_TOLERANCE),
            self.keys,
            "sum",
            "a probability is outside [0, 1]",
        )
        sums = self.probabilities.sum(axis=1, dtype=np.float64)
        _refuse(
            np.abs(sums - 1) > SUM_TOLERANCE,
            self.keys,
            "sum",
            "probabilities do not sum to 1 (are they logits? apply softmax first)",
        )


@dataclass(frozen=True)
class LabelSets:
    """Predictions of one contender for n examples with any number of c classes, checked when built.

    keys: (n,) object array of str, unique. labels: (n,) int64, sets of the true classes.
    probabilities: (n, c) float32 in [0, 1]. classes: c names. Raises PredictionsError when any of
    this does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray
    classes: tuple[str, ...]

    def __post_init__(self):
        object.__setattr__(self, "keys", _texts(self.keys))
        object.__setattr__(self, "labels", np.asarray(self.labels, dtype=np.int64))
        object.__setattr__(self, "probabilities", np.asarray(self.probabilities, dtype=np.float32))
        object.__setattr__(self, "classes", tuple(str(name) for name in self.classes))
        n, c = len(self.keys), len(self.classes)
        if not 2 <= c <= MULTILABEL_MAX_CLASSES:
            raise PredictionsError(
                f"{c} class(es) named; a multi-label task has 2 to {MULTILABEL_MAX_CLASSES}"
            )
        if self.labels.shape != (n,) or self.probabilities.shape != (n, c):
            raise PredictionsError(
                f"shapes do not fit: {n} keys, labels {self.labels.shape}, probabilities "
                f"{self.probabilities.shape} for {c} classes (expected ({n},) and ({n}, {c}))"
            )
        _check_keys(self.keys)
        wrong = (self.labels < 0) | (self.labels >> c > 0)
        _refuse(wrong, self.keys, "labels", f"label is not a set of the class indices 0..{c - 1}")
        _refuse(
            ~np.isfinite(self.probabilities).all(axis=1),
            self.keys,
            "finite",
            "probabilities hold NaN or infinity (did the training diverge?)",
        )
        low, high = self.probabilities.min(axis=1), self.probabilities.max(axis=1)
        _refuse((low < 0) | (high > 1), self.keys, "sum", "a probability is outside [0, 1]")

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class Values:
    """Predictions of one contender for n examples with a numeric label, checked when built.

    keys: (n,) object array of str, unique. labels, values: (n,) float64, finite, true and
    predicted, both in the label's own unit. Raises PredictionsError when any of this does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    values: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "keys", _texts(self.keys))
        object.__setattr__(self, "labels", np.asarray(self.labels, dtype=np.float64))
        object.__setattr__(self, "values", np.asarray(self.values, dtype=np.float64))
        n = len(self.keys)
        if self.labels.shape != (n,) or self.values.shape != (n,):
            raise PredictionsError(
                f"shapes do not fit: {n} keys, labels {self.labels.shape}, values "
                f"{self.values.shape} (expected ({n},) twice; flatten a model's (n, 1) output)"
            )
        _check_keys(self.keys)
        _refuse(~np.isfinite(self.labels), self.keys, "labels", "label is NaN or infinite")
        _refuse(
            ~np.isfinite(self.values),
            self.keys,
            "finite",
            "predicted value is NaN or infinite (did the training diverge?)",
        )

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class Survivals:
    """Predictions of one contender for n examples with a time to an event, checked when built.

    keys: (n,) object array of str, unique. labels: (n, 2) float64, the time, and 1 if the event
    happened then, else 0. risks: (n,) float64. curves: (n, t) float64 probabilities of no event
    until each of the times, which rise: no curve does. Raises PredictionsError when any of this
    does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    risks: np.ndarray
    curves: np.ndarray
    times: tuple[float, ...]

    def __post_init__(self):
        object.__setattr__(self, "keys", _texts(self.keys))
        for name in ("labels", "risks", "curves"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "times", tuple(map(float, self.times)))
        n, t = len(self.keys), len(self.times)
        found = self.labels.shape, self.risks.shape, self.curves.shape
        if found != ((n, 2), (n,), (n, t)):
            raise PredictionsError(
                f"shapes do not fit: {n} keys, labels {found[0]}, risks {found[1]}, probabilities "
                f"of survival {found[2]} at {t} times"
            )
        _check_keys(self.keys)
        known = np.isfinite(self.labels).all(axis=1) & (self.labels[:, 0] >= 0)
        _refuse(~known, self.keys, "labels", "time is negative, NaN or infinite")
        _refuse(
            ~np.isin(self.labels[:, 1], (0, 1)), self.keys, "labels", "event is neither 0 nor 1"
        )
        finite = np.isfinite(self.risks) & np.isfinite(self.curves).all(axis=1)
        _refuse(
            ~finite,
            self.keys,
            "finite",
            "risk or survival is NaN or infinite (did the training diverge?)",
        )
        outside = (self.curves < 0) | (self.curves > 1)
        _refuse(
            np.asarray(outside.any(axis=1)), self.keys, "sum", "a probability is outside [0, 1]"
        )
        rises = np.diff(self.curves, axis=1) > _ROUNDING
        _refuse(
            np.asarray(rises.any(axis=1)),
            self.keys,
            "sum",
            "the probability of survival rises with time",
        )

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class Masks:
    """What the metrics need of one contender's masks for n images with c classes, checked when
    built.

    keys: (n,) object array of str, unique. labels, predicted, both: (n, c) int64 pixels of each
    class in the true mask, in the predicted one, and in both. distances: (n, c) float64 of the
    class's boundaries, in pixels; NaN where there are not two. classes: c names, the background
    first. Raises PredictionsError when any of this does not hold.
    """

    keys: np.ndarray
    labels: np.ndarray
    predicted: np.ndarray
    both: np.ndarray
    distances: np.ndarray
    classes: tuple[str, ...]

    def __post_init__(self):
        object.__setattr__(self, "keys", _texts(self.keys))
        for name in ("labels", "predicted", "both"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        object.__setattr__(self, "distances", np.asarray(self.distances, dtype=np.float64))
        object.__setattr__(self, "classes", tuple(str(name) for name in self.classes))
        n, c = len(self.keys), len(self.classes)
        if c < 2:
            raise PredictionsError(f"{c} class(es) named; a mask has at least 2")
        parts = (self.labels, self.predicted, self.both, self.distances)
        if any(part.shape != (n, c) for part in parts):
            shapes = ", ".join(str(part.shape) for part in parts)
            raise PredictionsError(f"shapes do not fit: {n} keys, {c} classes, and {shapes}")
        _check_keys(self.keys)
        fewer = np.minimum(self.labels, self.predicted)
        wrong = (self.both < 0) | (self.both > fewer)
        _refuse(wrong.any(axis=1), self.keys, "labels", "more pixels in both masks than in one")
        differs = self.labels.sum(axis=1) != self.predicted.sum(axis=1)
        _refuse(differs, self.keys, "labels", "masks of different sizes")
        distances = np.nan_to_num(self.distances)
        outside = ~(np.isfinite(distances) & (distances >= 0)).all(axis=1)
        _refuse(outside, self.keys, "finite", "a distance is negative or infinite")

    def __len__(self) -> int:
        return len(self.keys)


AnyPredictions: TypeAlias = Predictions | LabelSets | Values | Survivals | Masks


def _check_keys(keys: np.ndarray) -> None:
    if len(keys) == 0:
        raise PredictionsError("there is not one row; the test split must not be empty", "keys")
    unique, counts = np.unique(keys, return_counts=True)
    _refuse(counts > 1, unique, "keys", "key appears more than once")


def _refuse(bad: np.ndarray, keys: np.ndarray, rule: str, what: str) -> None:
    if bad.any():
        first = quoted(f", first keys {', '.join(map(repr, keys[bad][:3]))}", "")
        raise PredictionsError(f"{what}: {int(bad.sum())} row(s){first}", rule)


def _texts(keys: Iterable[str | bytes]) -> np.ndarray:
    return np.array([_text(key) for key in keys], dtype=object)


def _text(key: str | bytes) -> str:
    """A key as text; TensorFlow returns keys as UTF-8 bytes."""
    return key.decode("utf-8") if isinstance(key, bytes) else str(key)


def write(
    path: str | PathLike,
    predictions: AnyPredictions,
    origin: Mapping[str, str] | None = None,
) -> None:
    """Write predictions.parquet (schema in this module's docstring) to a local path.

    origin: identifies the model and its input; `origin` returns it.
    The file is built in memory and written in one go, because a Cloud Storage FUSE folder knows
    only whole objects and a reader must never see half a file.
    """
    header = _header(predictions, origin)
    written = pa.table(_arrays(predictions), metadata=header.metadata)
    _parsed(written.schema)
    buffer = pa.BufferOutputStream()
    pq.write_table(written, buffer, compression="zstd")
    with open(path, "wb") as file:
        file.write(buffer.getvalue())


def _header(predictions: AnyPredictions, origin: Mapping[str, str] | None) -> PredictionsHeader:
    if isinstance(predictions, Values):
        return PredictionsHeader(REGRESSION, origin=origin)
    if isinstance(predictions, Survivals):
        return PredictionsHeader(SURVIVAL, origin=origin, times=predictions.times)
    classes = predictions.classes
    if isinstance(predictions, LabelSets | Masks):
        task = MULTILABEL if isinstance(predictions, LabelSets) else SEGMENTATION
        return PredictionsHeader(task, classes, origin=origin)
    threshold = predictions.threshold.named(classes) if predictions.threshold else None
    return PredictionsHeader(None, classes, threshold, origin)


def _arrays(predictions: AnyPredictions) -> dict[str, pa.Array]:
    keys = {"key": pa.array(predictions.keys, pa.string())}
    if isinstance(predictions, Survivals):
        return {
            **keys,
            "label": pa.array(predictions.labels[:, 0]),
            "event": pa.array(predictions.labels[:, 1] == 1),
            "risk": pa.array(predictions.risks),
            "survival": _lists(predictions.curves, pa.float64()),
        }
    if isinstance(predictions, Masks):
        counts = predictions.labels, predictions.predicted, predictions.both
        named = zip(("truth", "predicted", "both"), counts, strict=True)
        lists = {name: _lists(count, pa.int64()) for name, count in named}
        return {**keys, **lists, "distance": _lists(predictions.distances, pa.float64())}
    arrays = {**keys, "label": pa.array(predictions.labels)}
    if isinstance(predictions, Values):
        return {**arrays, "value": pa.array(predictions.values)}
    return {**arrays, "probabilities": _lists(predictions.probabilities, pa.float32())}


def _lists(rows: np.ndarray, type_: pa.DataType) -> pa.Array:
    n, c = rows.shape
    offsets = np.arange(0, (n + 1) * c, c, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(rows.ravel(), type_))


def origin(path: str | PathLike) -> Mapping[str, str] | None:
    """The origin of the predictions in a file, or None.

    Raises FileNotFoundError when there is none, PredictionsError when it is not a Parquet file.
    """
    with open(path, "rb") as file:
        try:
            schema = pq.read_schema(file)
        except (pa.ArrowInvalid, OSError) as error:
            raise PredictionsError(f"not a readable Parquet file: {error}") from error
    return _parsed(schema).origin


def read(path: str | PathLike) -> AnyPredictions:
    """Read and check a predictions.parquet: of the kind that its task has.

    Raises FileNotFoundError when there is none, PredictionsError when it does not hold what the
    schema says.
    """
    with open(path, "rb") as file:
        try:
            table = pq.read_table(pa.BufferReader(file.read()))
        except (pa.ArrowInvalid, OSError) as error:
            raise PredictionsError(f"not a readable Parquet file: {error}") from error
    header = _parsed(table.schema)
    columns = {name: _column(table, name) for name in header.columns}
    key = columns["key"].to_numpy(zero_copy_only=False)
    if header.task == SEGMENTATION:
        names = ("truth", "predicted", "both", "distance")
        truth, predicted, both, distances = (
            lists(columns[name], key, len(header.classes), "class") for name in names
        )
        return Masks(key, truth, predicted, both, distances, header.classes)
    label = columns["label"].to_numpy(zero_copy_only=False)
    if header.task == REGRESSION:
        return Values(key, label, columns["value"].to_numpy(zero_copy_only=False))
    if header.task == SURVIVAL:
        return of_survival(columns, key, header.times)
    probabilities = lists(columns["probabilities"], key, len(header.classes), "class")
    if header.task == MULTILABEL:
        return LabelSets(key, label, probabilities, header.classes)
    try:
        named = header.threshold
        threshold = Threshold.of(named.to_document(), header.classes) if named else None
    except ValueError as error:
        raise PredictionsError(str(error)) from error
    return Predictions(key, label, probabilities, header.classes, threshold)


def _parsed(schema: pa.Schema) -> PredictionsHeader:
    """Check a file's schema. Raises PredictionsError."""
    columns = {field.name: _type_name(field.type) for field in schema}
    try:
        return PredictionsHeader.parse(schema.metadata or {}, columns)
    except ContractError as error:
        raise PredictionsError(str(error)) from error


def _type_name(kind: pa.DataType) -> str:
    """An Arrow type; of a list without the name of its elements, which differs between writers."""
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)


def of_survival(
    columns: Mapping[str, pa.Array], keys: np.ndarray, times: tuple[float, ...]
) -> Survivals:
    """The predictions in the columns of a file of a time to an event. Raises PredictionsError."""
    time, event, risk = (
        columns[name].to_numpy(zero_copy_only=False).astype(np.float64)
        for name in ("label", "event", "risk")
    )
    curves = lists(columns["survival"], keys, len(times), "time")
    return Survivals(keys, np.stack([time, event], axis=1), risk, curves, times)


def lists(column: pa.Array, keys: np.ndarray, size: int, per: str) -> np.ndarray:
    """(n, size) numbers of (n,) lists. Raises PredictionsError for another length."""
    wrong = pc.not_equal(pc.list_value_length(column), size).to_numpy(zero_copy_only=False)
    _refuse(wrong, keys, "form", f"not exactly {size} numbers, one per {per}")
    return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, size)


def _column(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    if column.null_count:
        raise PredictionsError(
            f"column {name!r} is NULL in {column.null_count} of {len(column)} rows"
        )
    # combine_chunks of a chunked array with no chunk at all would fail: concat handles both.
    return pa.concat_arrays(column.chunks or [pa.array([], column.type)])
