"""Converts the columns of a table to numbers, by the transformations of AutoML tables.

Each transformation is fitted to the training rows alone and then turns a column into one or more
float64 columns without NaN:
- numeric: z-score; of log(1 + x) too where no training value is negative; whether it is missing
- repeated_numeric: the mean of the array (0 of an empty one), then as numeric
- categorical: one column for each category with 5 or more training rows, the 50 most frequent; one
  for all others; NULL is a category
- timestamp: seconds as numeric, and month, weekday and hour on the circle
- text: TF-IDF of the 200 most frequent words
- auto: by the column's type; text counts as numeric or timestamp if all training values are, as
  categorical if values repeat, else as text
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from local_gcp.vertex.automl.inputs import Transformation

CATEGORIES = 50
RARE = 5
"""Training rows that a category needs to be one of its own."""
WORDS = 200
_UNIX = {
    "unix-seconds": 1.0,
    "unix-milliseconds": 1e-3,
    "unix-microseconds": 1e-6,
    "unix-nanoseconds": 1e-9,
}


class DataError(Exception):
    """Data that cannot be trained on or predicted; its message is for the user."""


class Numeric:
    """See the module; fitted to numbers, float64[n] with NaN for what is missing."""

    def __init__(self, numbers: np.ndarray):
        valid = numbers[np.isfinite(numbers)]
        self.scales = [_scale(valid)]
        if valid.size and valid.min() >= 0:
            self.scales.append(_scale(np.log1p(valid)))
        self.fill = float(valid.mean()) if valid.size else 0.0

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        missing = ~np.isfinite(numbers)
        numbers = np.where(missing, self.fill, numbers)
        columns = [_apply(numbers, self.scales[0])]
        if len(self.scales) == 2:
            columns.append(_apply(np.log1p(np.maximum(numbers, 0)), self.scales[1]))
        # A value far outside the training range must not dominate a linear model.
        return np.column_stack([*np.clip(columns, -20, 20), missing])


class Categorical:
    """See the module; fitted to texts, None is a category too."""

    def __init__(self, values: Sequence[str | None]):
        frequent = Counter(values).most_common(CATEGORIES)
        self.places = {value: i for i, (value, count) in enumerate(frequent) if count >= RARE}

    def __call__(self, values: Sequence[str | None]) -> np.ndarray:
        result = np.zeros((len(values), len(self.places) + 1))
        other = len(self.places)
        result[np.arange(len(values)), [self.places.get(v, other) for v in values]] = 1
        return result


class Timestamp:
    """See the module; fitted to seconds since 1970 UTC, NaN for what is missing."""

    def __init__(self, seconds: np.ndarray):
        self.numeric = Numeric(seconds)

    def __call__(self, seconds: np.ndarray) -> np.ndarray:
        missing = ~np.isfinite(seconds)
        days = np.where(missing, 0, seconds) / 86400
        parts = [(days % 365.2425) / 365.2425, (days % 7) / 7, days % 1]
        waves = [wave(2 * np.pi * part) for part in parts for wave in (np.sin, np.cos)]
        return np.column_stack([self.numeric(seconds), *(np.where(missing, 0, w) for w in waves)])


class Text:
    """See the module; fitted to texts."""

    def __init__(self, values: Sequence[str | None]):
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.vectorizer = TfidfVectorizer(max_features=WORDS)
        try:
            self.vectorizer.fit([value or "" for value in values])
        except ValueError:  # no word at all
            self.vectorizer = None

    def __call__(self, values: Sequence[str | None]) -> np.ndarray:
        if self.vectorizer is None:
            return np.zeros((len(values), 1))
        return self.vectorizer.transform([value or "" for value in values]).toarray()


class Features:
    """The transformations of all columns, fitted to the training rows `table`."""

    def __init__(self, table: pa.Table, transformations: Sequence[Transformation]):
        self.transformations = []
        self._encoders = []
        for transformation in transformations:
            if transformation.column not in table.column_names:
                raise DataError(
                    f"There is no column {transformation.column!r}; there are "
                    f"{', '.join(table.column_names)}."
                )
            column = table[transformation.column]
            resolved = _resolve(transformation, column)
            read, encoder = _KINDS[resolved.kind]
            self.transformations.append(resolved)
            self._encoders.append(encoder(read(column, resolved)))

    @property
    def columns(self) -> list[str]:
        """Columns of the table that the features use."""
        return [transformation.column for transformation in self.transformations]

    def __call__(self, table: pa.Table) -> np.ndarray:
        """float64[rows, features]; DataError for a column that is not there."""
        return np.hstack([np.zeros((table.num_rows, 0)), *self.blocks(table)])

    def blocks(self, table: pa.Table) -> Iterator[np.ndarray]:
        """The features of each column in turn, float64[rows, some]."""
        for transformation, encoder in zip(self.transformations, self._encoders, strict=True):
            if transformation.column not in table.column_names:
                raise DataError(f"There is no column {transformation.column!r}.")
            read, _ = _KINDS[transformation.kind]
            yield encoder(read(table[transformation.column], transformation))

    def incomplete(self, table: pa.Table) -> np.ndarray:
        """bool[rows]: rows that lack a value in a column that must have one."""
        result = np.zeros(table.num_rows, dtype=bool)
        for transformation in self.transformations:
            if not transformation.nullable:
                read, _ = _KINDS[transformation.kind]
                result |= ~np.isfinite(read(table[transformation.column], transformation))
        return result


def numbers(column: pa.ChunkedArray, _: Any = None) -> np.ndarray:
    """float64[rows]: NaN for NULL and for text that is not a number."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return np.array([_number(value) for value in column.to_pylist()], dtype=np.float64)


def texts(column: pa.ChunkedArray, _: Any = None) -> list[str | None]:
    """Values as BigQuery casts them to STRING; None for NULL."""
    return [None if value is None else as_text(value) for value in column.to_pylist()]


def as_text(value: Any) -> str:
    """true, 7, 0.5, ...: the value as a class or a category."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def seconds(column: pa.ChunkedArray, transformation: Transformation) -> np.ndarray:
    """float64[rows]: seconds since 1970 UTC, NaN for what is not a time in the column's format."""
    form = transformation.time_format
    return np.array([_seconds(value, form) for value in column.to_pylist()], dtype=np.float64)


def means(column: pa.ChunkedArray, _: Any = None) -> np.ndarray:
    """float64[rows]: the mean of each array, 0 of an empty one."""
    result = []
    for value in column.to_pylist():
        elements = [_number(element) for element in value or []]
        result.append(sum(elements) / len(elements) if elements else 0.0)
    return np.array(result, dtype=np.float64)


_KINDS: dict[str, tuple[Callable, Callable]] = {
    "numeric": (numbers, Numeric),
    "repeated_numeric": (means, Numeric),
    "categorical": (texts, Categorical),
    "timestamp": (seconds, Timestamp),
    "text": (texts, Text),
}


def _resolve(transformation: Transformation, column: pa.ChunkedArray) -> Transformation:
    kind = column.type
    array = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if transformation.kind == "repeated_numeric" and not array:
        raise DataError(f"The column {transformation.column!r} is {kind}, not an array.")
    if transformation.kind not in ("auto", "repeated_numeric") and pa.types.is_nested(kind):
        raise DataError(f"The column {transformation.column!r} is {kind}: give it another kind.")
    if transformation.kind != "auto":
        return transformation
    return Transformation(transformation.column, _automatic(transformation.column, column))


def _automatic(name: str, column: pa.ChunkedArray) -> str:
    kind = column.type
    if pa.types.is_list(kind) and _is_number(kind.value_type):
        return "repeated_numeric"
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_time(kind):
        raise DataError(f"The column {name!r} is {kind}, which local AutoML cannot use.")
    if _is_number(kind):
        return "numeric"
    if pa.types.is_temporal(kind):
        return "timestamp"
    if pa.types.is_boolean(kind):
        return "categorical"
    values = [value for value in column.to_pylist() if value is not None]
    if not values:
        return "categorical"
    if not any(math.isnan(_number(value)) for value in values):
        return "numeric"
    if not any(math.isnan(_seconds(value, "")) for value in values):
        return "timestamp"
    words = sum(len(value.split()) for value in values) / len(values)
    repeats = len(set(values)) <= max(CATEGORIES, len(values) // 2)
    return "categorical" if repeats or words < 2 else "text"


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _number(value: Any) -> float:
    try:
        return math.nan if value is None else float(value)
    except (TypeError, ValueError):
        return math.nan


def _seconds(value: Any, form: str) -> float:
    if form in _UNIX:
        return _number(value) * _UNIX[form]
    try:
        if isinstance(value, str):
            parse = datetime.datetime.fromisoformat
            value = datetime.datetime.strptime(value, form) if form else parse(value)
        elif isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            value = datetime.datetime(value.year, value.month, value.day)
        if not isinstance(value, datetime.datetime):
            return math.nan
    except ValueError:
        return math.nan
    return (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).timestamp()


def _scale(values: np.ndarray) -> tuple[float, float]:
    """(mean, deviation), such that applying it to finite values gives finite ones."""
    if not values.size:
        return 0.0, 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(values.mean()), float(values.std())
    return (mean, deviation or 1.0) if np.isfinite([mean, deviation]).all() else (0.0, 1.0)


def _apply(values: np.ndarray, scale: tuple[float, float]) -> np.ndarray:
    return (values - scale[0]) / scale[1]
