"""BigQuery ML's automatic preprocessing: converts columns of any type to a matrix of floats.

| column                        | becomes                                                         |
|-------------------------------|-----------------------------------------------------------------|
| INT64, FLOAT64, NUMERIC       | itself, NULL and NaN as the mean; standardised if configured     |
| BOOL, STRING, BYTES, DATE,    | one column per category, NULL one of its own, unseen ones all 0; |
|   DATETIME, TIME              |   or the category's number (NULL, unseen: 0) for boosted trees   |
| TIMESTAMP                     | Unix seconds as a number, and seven parts as categories         |
| ARRAY of numbers              | its elements as they are; all arrays have one length            |
| other ARRAY                   | one column per element seen                                     |
| STRUCT                        | its fields, named STRUCT_FIELD                                  |

Means, deviations, categories and lengths come from the training rows only.
Source: https://cloud.google.com/bigquery/docs/auto-preprocessing
"""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from local_gcp.bigquery.errors import BigQueryError, invalid_query, not_emulated
from local_gcp.bigquery.schema import Field, field_from_arrow

NULL_CATEGORY = "_null_filler"
"""BigQuery ML's name for the category of NULLs in ML.WEIGHTS."""
LARGEST_MATRIX = 4 * 1024**3
"""Bytes of a transformed matrix; string features with many categories exceed it."""

LARGEST = 1e150
_NUMBERS = {"INT64", "FLOAT64", "NUMERIC"}
_CATEGORIES = {"BOOL", "STRING", "BYTES", "DATE", "DATETIME", "TIME"}
# Types that BigQuery coerces implicitly, by the type in the training data:
# https://cloud.google.com/bigquery/docs/reference/standard-sql/conversion_rules#coercion
_COERCED = {"FLOAT64": {"INT64", "NUMERIC"}, "NUMERIC": {"INT64"}, "DATETIME": {"DATE"}}


@dataclass(frozen=True)
class Recipe:
    """Encoding of a model type's features."""

    standardize: bool = True
    category: str = "ONE_HOT_ENCODING"  # or DUMMY_ENCODING, LABEL_ENCODING


@dataclass
class Slot:
    """Columns of the matrix for one processed input (a row of ML.WEIGHTS).

    `categories`: one per column; None for a number, "" names for an array's elements.
    `dropped`: the category without a column (dummy encoding).
    `mean`, `scale`: of a standardised number: matrix = (value - mean) / scale.
    """

    name: str
    feature: str
    width: int
    categories: list[str] | None = None
    dropped: str | None = None
    mean: float = 0.0
    scale: float = 1.0
    fill: float = 0.0
    encoding: str = "number"  # one_hot, label, multi_hot, vector


@dataclass
class Encoder:
    """Fitted preprocessing. `fields`: the features as the training query returned them."""

    fields: list[Field]
    recipe: Recipe
    slots: list[Slot] = field(default_factory=list)
    information: list[dict[str, Any]] = field(default_factory=list)
    """Rows of ML.FEATURE_INFO."""

    @classmethod
    def fit(cls, rows: pa.Table, names: list[str], recipe: Recipe) -> Encoder:
        """Fit to training rows. Raises BigQueryError for columns that cannot be features."""
        if not names:
            raise invalid_query("The training data has no feature column")
        encoder = cls([field_from_arrow(rows.schema.field(name)) for name in names], recipe)
        for column in encoder._columns(rows):
            encoder._fit_column(column)
        return encoder

    @property
    def width(self) -> int:
        """Number of columns of the matrix: BigQuery's feature cardinality."""
        return sum(slot.width for slot in self.slots)

    def transform(self, rows: pa.Table, function: str) -> np.ndarray:
        """The matrix, float64 of shape (rows, width). `function`: named in errors, e.g. PREDICT.

        Raises BigQueryError(invalidQuery) for missing columns and types that cannot be coerced.
        """
        needed = rows.num_rows * self.width * 8
        if needed > LARGEST_MATRIX:
            raise BigQueryError(
                "resourcesExceeded",
                f"Resources exceeded: {rows.num_rows} rows of {self.width} transformed features "
                f"({_widest(self.slots)}) need {needed / 1024**3:.1f} GiB of at most "
                f"{LARGEST_MATRIX / 1024**3:.0f}.",
                "query",
            )
        columns = {c.name: c for c in self._columns(rows, function)}
        matrix = np.zeros((rows.num_rows, self.width))
        start = 0
        for slot in self.slots:
            _write(slot, columns[slot.name], matrix[:, start : start + slot.width])
            start += slot.width
        return matrix

    def _columns(self, rows: pa.Table, function: str = "CREATE MODEL") -> list[_Column]:
        """The processed inputs of a table, before any encoding."""
        found = {name.lower(): name for name in reversed(rows.column_names)}
        columns: list[_Column] = []
        for wanted in self.fields:
            name = found.get(wanted.name.lower())
            if name is None:
                raise invalid_query(
                    f"Invalid table-valued function ML.{function}\nColumn {wanted.name} is not "
                    f"found in the input data to the {function} function."
                )
            array = rows[name]
            if len(self.slots):  # fitted: the types must match the training data's
                array = _coerced(array, wanted, field_from_arrow(rows.schema.field(name)), function)
            columns += _expand(wanted.name, wanted, array.combine_chunks())
        return columns

    def _fit_column(self, column: _Column) -> None:
        slot, information = _fit(column, self.recipe)
        self.slots.append(slot)
        if not column.derived:
            self.information.append({"input": column.name, **_NO_INFORMATION, **information})


_NO_INFORMATION = dict.fromkeys(
    ["min", "max", "mean", "median", "stddev", "category_count", "null_count", "dimension"]
)


@dataclass
class _Column:
    name: str
    feature: str
    kind: str  # number, category, vector, multi
    array: pa.Array
    derived: bool = False  # a part of a timestamp


def as_floats(array: Any) -> Any:
    """The numbers as float64, rounded where it has fewer digits: INT64 from 2^53, NUMERIC."""
    return pc.cast(array, pa.float64(), safe=False)


def _expand(name: str, of: Field, array: pa.Array) -> list[_Column]:
    """Processed inputs of one feature; a STRUCT or TIMESTAMP has several."""
    if of.repeated:
        if of.type in _NUMBERS:
            return [_Column(name, name, "vector", array)]
        if of.type in _CATEGORIES:
            return [_Column(name, name, "multi", array)]
        raise not_emulated(f"{of.data_type} features (column {name})")
    if of.type == "STRUCT":
        columns = []
        for inner in of.fields:
            if inner.type == "STRUCT" or not inner.name:
                raise invalid_query(f"Nested or unnamed STRUCT fields in column {name}")
            part = pc.struct_field(array, inner.name)
            columns += _expand(f"{name}_{inner.name}", inner, part)
        return columns
    if of.type in _NUMBERS:
        return [_Column(name, name, "number", as_floats(array))]
    if of.type in _CATEGORIES:
        return [_Column(name, name, "category", _as_text(array, of.type))]
    if of.type == "TIMESTAMP":
        return _timestamp(name, array)
    raise not_emulated(f"{of.type} features (column {name})")


def _timestamp(name: str, array: pa.Array) -> list[_Column]:
    utc = pc.cast(array, pa.timestamp("us", tz="UTC"))
    seconds = pc.divide(as_floats(pc.cast(utc, pa.int64())), 1e6)
    year, days = pc.year(utc), pc.day_of_year(utc)
    sunday = pc.day_of_week(utc, week_start=7)  # 0 is Sunday
    week = pc.divide(pc.add(pc.subtract(days, sunday), 6), 7)  # weeks begin on Sunday
    parts = {
        "DOM": pc.day(utc),
        "DOW": pc.add(sunday, 1),
        "MOY": pc.month(utc),
        "HOD": pc.hour(utc),
        "MOH": pc.minute(utc),
        "WOY": week,
        "YEAR": year,
    }
    columns = [_Column(name, name, "number", seconds)]
    for part, values in parts.items():
        text = pc.cast(values, pa.string())
        columns.append(_Column(f"_TS_{part}_{name}", name, "category", text, derived=True))
    return columns


def _as_text(array: pa.Array, kind: str) -> pa.Array:
    if kind == "BYTES":  # base64, as in REST
        values = [None if v is None else base64.b64encode(v).decode() for v in array.to_pylist()]
        return pa.array(values, pa.string())
    return pc.cast(array, pa.string())


def _fit(column: _Column, recipe: Recipe) -> tuple[Slot, dict[str, Any]]:
    name, feature, array = column.name, column.feature, column.array
    nulls = {"null_count": array.null_count}
    if column.kind == "number":
        values = array.to_numpy(zero_copy_only=False)
        _refuse_infinite(name, values)
        values = values[~np.isnan(values)]
        if not len(values):
            return Slot(name, feature, 1), nulls
        mean, deviation = float(values.mean()), float(values.std())
        scaled = recipe.standardize
        slot = Slot(name, feature, 1, fill=mean)
        if scaled:
            slot.mean, slot.scale = mean, deviation if deviation > 0 else 1.0
        return slot, {
            "min": float(values.min()),
            "max": float(values.max()),
            "mean": mean,
            "median": float(np.median(values)),
            "stddev": deviation,
            **nulls,
        }
    if column.kind == "category":
        counts = Counter(
            {
                item["values"]: item["counts"]
                for item in pc.value_counts(array).to_pylist()
                if item["values"] is not None
            }
        )
        categories = sorted(counts)
        information = {"category_count": len(categories), **nulls}
        if recipe.category == "LABEL_ENCODING":
            return Slot(name, feature, 1, categories, encoding="label"), information
        if array.null_count:
            categories = [*categories, NULL_CATEGORY]
        slot = Slot(name, feature, len(categories), categories, encoding="one_hot")
        if recipe.category == "DUMMY_ENCODING" and counts:
            # BigQuery drops the most frequent category; with ties, any of them.
            slot.dropped = min(counts, key=lambda c: (-counts[c], c))
            slot.categories = [c for c in categories if c != slot.dropped]
            slot.width -= 1
        return slot, information
    if column.kind == "multi":
        elements = sorted({str(v) for v in pc.unique(_elements(array)).to_pylist()})
        slot = Slot(name, feature, len(elements), elements, encoding="multi_hot")
        return slot, {"category_count": len(elements), **nulls}
    lengths = set(pc.unique(pc.list_value_length(array).drop_null()).to_pylist())
    if len(lengths) > 1:
        raise invalid_query(
            f"Arrays of column {name} have different lengths ({min(lengths)} to {max(lengths)}); "
            "an ARRAY feature of numbers needs the same length in all rows"
        )
    _refuse_infinite(name, as_floats(pc.list_flatten(array)).to_numpy(False))
    width = lengths.pop() if lengths else 0
    return Slot(name, feature, width, encoding="vector"), {"dimension": width, **nulls}


def _elements(array: pa.Array) -> pa.Array:
    flat = pc.list_flatten(array)
    return _as_text(flat, field_from_arrow(pa.field("element", flat.type)).type)


def _write(slot: Slot, column: _Column, into: np.ndarray) -> None:
    """Encode a column into its part of the matrix, which is zero before."""
    array = column.array
    if slot.encoding == "number":
        values = array.to_numpy(zero_copy_only=False).astype(float)
        _refuse_infinite(slot.name, values)
        into[:, 0] = (np.where(np.isnan(values), slot.fill, values) - slot.mean) / slot.scale
    elif slot.encoding in ("one_hot", "label"):
        if slot.encoding == "one_hot":
            array = pc.fill_null(array, NULL_CATEGORY)
        known = pa.array(slot.categories, pa.string())
        index = pc.fill_null(pc.index_in(array, known, skip_nulls=True), -1).to_numpy(False)
        if slot.encoding == "label":
            into[:, 0] = index + 1
        else:
            rows = np.flatnonzero(index >= 0)
            into[rows, index[rows]] = 1.0
    elif slot.encoding == "multi_hot":
        known = pa.array(slot.categories, pa.string())
        index = pc.fill_null(pc.index_in(_elements(array), known), -1).to_numpy(False)
        rows = pc.list_parent_indices(array).to_numpy(False)
        seen = index >= 0
        into[rows[seen], index[seen]] = 1.0
    else:
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(False)
        if np.any((lengths != slot.width) & (lengths != 0)):
            raise invalid_query(
                f"Arrays of column {slot.name} must have {slot.width} elements, as in training"
            )
        flat = as_floats(pc.list_flatten(array)).to_numpy(False)
        into[lengths > 0] = np.nan_to_num(flat, nan=0.0).reshape(-1, slot.width or 1)


def _refuse_infinite(name: str, values: np.ndarray) -> None:
    if np.isinf(values).any():
        raise invalid_query(f"Input data contains infinite values in column {name}")
    refuse_large(name, values)


def refuse_large(name: str, values: np.ndarray) -> None:
    """Raise notImplemented for numbers whose squares, as in deviations and losses, overflow."""
    if (np.abs(values) > LARGEST).any():
        raise not_emulated(f"numbers beyond {LARGEST:g} in BigQuery ML (column {name})")


def _coerced(array: pa.ChunkedArray, wanted: Field, given: Field, function: str) -> pa.ChunkedArray:
    same = (given.data_type, given.repeated) == (wanted.data_type, wanted.repeated)
    if same:
        return array
    widened = given.type in _COERCED.get(wanted.type, set()) and not given.fields
    if given.repeated == wanted.repeated and widened:
        return as_floats(array) if wanted.type == "FLOAT64" else array.cast(wanted.arrow)
    raise invalid_query(
        f"Invalid table-valued function ML.{function}\nColumn {wanted.name} has type "
        f"{given.data_type} in the input data to the {function} function, which cannot be coerced "
        f"to the type {wanted.data_type} that the model was trained with."
    )


def _widest(slots: list[Slot]) -> str:
    widest = max(slots, key=lambda slot: slot.width)
    return f"column {widest.name} alone has {widest.width}"
