"""columns.json: what the Parquet files of a table hold, written beside them by who exported it.

    {"schema": 1,
     "task": "binary_classification", "multiclass_classification" or "regression",
     "split": {"train": [0, 80], "validation": [80, 90], "test": [90, 100]},   half-open, of 0..99
     "key": {"name": "sample_id"}, "label": {"name": "malignant"},   names in the source
     "features": [{"name": "radius mean", "column": "radius_mean", "type": "FLOAT64",
                   "kind": "numeric"}, ...],
     "vocabulary": 1000,            terms kept per categorical feature at most
     "source": {"table", "query", "partition", "snapshot", "rows": 569}}       as dataset.json's

Beside it lie rows-*.parquet, in which every row has `key` (STRING), `split` (STRING: train,
validation or test), `label` (STRING; of a regression FLOAT64) and one column per feature.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from trainer.dataset_description import (
    BOOLEAN,
    CATEGORICAL,
    NUMERIC,
    REGRESSION,
    SEQUENCE,
    SPLITS,
    TASKS,
    TIMESTAMP,
)
from trainer.exporting import ExportError
from trainer.exporting.splits import BUCKETS

SCHEMA_VERSION = 1

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = ("key", "split", "label")


def _is_string(type_: pa.DataType) -> bool:
    return pa.types.is_string(type_) or pa.types.is_large_string(type_)


def _is_list_of(is_element):
    def check(type_: pa.DataType) -> bool:
        return (pa.types.is_list(type_) or pa.types.is_large_list(type_)) and is_element(
            type_.value_type
        )

    return check


# BigQuery's type -> whether an Arrow type is how a Parquet file holds it. DATETIME comes as a
# timestamp without zone or, from older exports, as ISO text.
_ARROW = {
    "INT64": pa.types.is_integer,
    "FLOAT64": pa.types.is_floating,
    "NUMERIC": pa.types.is_decimal,
    "BIGNUMERIC": pa.types.is_decimal,
    "BOOL": pa.types.is_boolean,
    "STRING": _is_string,
    "DATE": pa.types.is_date,
    "DATETIME": lambda type_: pa.types.is_timestamp(type_) or _is_string(type_),
    "TIMESTAMP": pa.types.is_timestamp,
    "ARRAY<FLOAT64>": _is_list_of(pa.types.is_floating),
    "ARRAY<INT64>": _is_list_of(pa.types.is_integer),
}

_TYPES = {
    NUMERIC: ("INT64", "FLOAT64", "NUMERIC", "BIGNUMERIC"),
    BOOLEAN: ("BOOL",),
    CATEGORICAL: ("STRING", "INT64"),
    TIMESTAMP: ("DATE", "DATETIME", "TIMESTAMP"),
    SEQUENCE: ("ARRAY<FLOAT64>", "ARRAY<INT64>"),
}


@dataclass(frozen=True)
class TableFeature:
    """One feature's column. name: the researcher's; column: that of the Parquet files."""

    name: str
    column: str
    type: str
    kind: str

    @property
    def title(self) -> str:
        """How messages call it."""
        of = "" if self.column == self.name else f" (column {self.column})"
        return f"feature {self.name!r}{of}"


@dataclass(frozen=True)
class Columns:
    """columns.json in memory; the module's docstring explains the fields. sha256: of its bytes."""

    task: str
    split_ranges: Mapping[str, tuple[int, int]]
    key: str
    label: str
    features: tuple[TableFeature, ...]
    vocabulary: int
    source: Mapping[str, object]
    sha256: str

    def of(self, *kinds: str) -> list[TableFeature]:
        """The features of these kinds, in order."""
        return [feature for feature in self.features if feature.kind in kinds]

    @property
    def is_regression(self) -> bool:
        """Whether the label is a number to predict."""
        return self.task == REGRESSION

    @property
    def names(self) -> list[str]:
        """The columns that are read from the Parquet files."""
        return [*_RESERVED, *(feature.column for feature in self.features)]

    def check_schema(self, schema: pa.Schema, where: str) -> None:
        """Raise ExportError, naming all differences, unless a Parquet file has these columns."""
        label_type = "FLOAT64" if self.is_regression else "STRING"
        expected = {"key": "STRING", "split": "STRING", "label": label_type}
        expected |= {feature.column: feature.type for feature in self.features}
        wrong = []
        for column, type_ in expected.items():
            if schema.get_field_index(column) < 0:
                wrong.append(f"column {column} is missing")
            elif not _ARROW[type_](schema.field(column).type):
                wrong.append(f"column {column} is {schema.field(column).type}, not {type_}")
        if wrong:
            more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise ExportError(
                f"{where} does not hold what columns.json says: {'; '.join(wrong[:5])}{more}. "
                "Export the snapshot again, and columns.json with it"
            )


def parse(content: bytes, address: str) -> Columns:
    """Read the columns.json found at `address`. Raises ExportError if it makes no sense."""
    try:
        document = json.loads(content)
        if document["schema"] != SCHEMA_VERSION:
            raise ExportError(
                f"schema {document['schema']}; this trainer reads schema {SCHEMA_VERSION}"
            )
        columns = Columns(
            task=document["task"],
            split_ranges={name: tuple(document["split"][name]) for name in SPLITS},
            key=document["key"]["name"],
            label=document["label"]["name"],
            features=tuple(
                TableFeature(*(entry[field] for field in ("name", "column", "type", "kind")))
                for entry in document["features"]
            ),
            vocabulary=document["vocabulary"],
            source=document["source"],
            sha256=hashlib.sha256(content).hexdigest(),
        )
        _check(columns)
    except ExportError as error:
        raise ExportError(f"{address}: {error}") from error
    except KeyError as error:
        raise ExportError(f"{address} lacks the key {error}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ExportError(f"{address} is no columns.json: {error}") from error
    return columns


def _check(columns: Columns) -> None:
    """Raise ExportError for what cannot be meant."""
    if columns.task not in TASKS:
        raise ExportError(f"unknown task {columns.task!r}; it is one of {', '.join(TASKS)}")
    edges = [edge for split in SPLITS for edge in columns.split_ranges[split]]
    if (edges[0], edges[-1]) != (0, BUCKETS) or edges[1:5:2] != edges[2:5:2]:
        raise ExportError(f"the split's ranges {edges} do not cover 0..{BUCKETS - 1} in order")
    if not columns.features:
        raise ExportError("there are no features; a model needs at least one")
    if type(columns.vocabulary) is not int or columns.vocabulary < 1:
        raise ExportError(f"vocabulary is {columns.vocabulary!r}, not a positive whole number")
    for attribute in ("name", "column"):
        values = [getattr(feature, attribute) for feature in columns.features]
        if repeated := sorted({value for value in values if values.count(value) > 1}):
            raise ExportError(f"two features have the {attribute} {repeated[0]!r}")
    for feature in columns.features:
        if not _PLAIN_NAME.fullmatch(feature.column) or feature.column in _RESERVED:
            raise ExportError(
                f"{feature.title}: a column's name is a plain identifier other than "
                f"{', '.join(_RESERVED)}"
            )
        if feature.kind not in _TYPES:
            raise ExportError(
                f"{feature.title} has kind {feature.kind!r}, not one of {', '.join(_TYPES)}"
            )
        if feature.type not in _TYPES[feature.kind]:
            raise ExportError(
                f"{feature.title} is {feature.kind} of type {feature.type}; that kind is of type "
                f"{' or '.join(_TYPES[feature.kind])}"
            )
