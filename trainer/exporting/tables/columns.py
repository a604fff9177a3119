"""columns.json: describes the Parquet files of a table. The task `check` writes it beside them.

columns.schema.json of trellis_contracts describes every field:

    {"schema": 1,
     "task": "binary_classification",            one of trellis_contracts.tasks
     "split": {"train": [0, 80], "validation": [80, 90], "test": [90, 100],   half-open, of 0..99
               "by": "patient_id"},              only where groups, not keys, decide the split
              or {"rule": "column fold"}         where no hash does: as the column `split` says
     "key": {"name": "sample_id"}, "label": {"name": "malignant"},   names in the source
     "positive": "ill",             only where the experiment names the positive class
     "weight": {"name": "sampling_weight"},      only where rows have weights
     "features": [{"name": "radius mean", "column": "radius_mean", "type": "FLOAT64",
                   "kind": "numeric"}, ...],
     "vocabulary": 1000,            maximum number of terms per categorical feature
     "source": {"table", "query", "partition", "snapshot", "rows": 569},       as dataset.json's
     "findings": [{"check": "group", "feature": "ward", "text": "..."}]}      its `warnings` too

The files rows-*.parquet beside it have the columns `key` (STRING), `split` (STRING: train,
validation or test), `label` (STRING, of a multi-label task as trainer.label_sets has it in a table;
FLOAT64 for a regression), one column per feature, and
`split_by` (STRING), the group of each row, if groups decide the split, and `example_weight`
(FLOAT64), if rows have weights.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from trainer.exporting import ExportError
from trainer.exporting.splits import BUCKETS
from trellis_contracts import documents
from trellis_contracts.dataset import GROUP_RULE, HASH_RULE, SPLITS, Split
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
)
from trellis_contracts.documents import ContractError
from trellis_contracts.tasks import MULTILABEL, REGRESSION, classes_in

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SPLIT_BY = "split_by"
"""Column of each row's group, where groups decide the split."""

WEIGHT = "example_weight"
"""Column of each row's weight, where rows have weights."""


def _is_string(type_: pa.DataType) -> bool:
    return pa.types.is_string(type_) or pa.types.is_large_string(type_)


def _is_list_of(is_element):
    def check(type_: pa.DataType) -> bool:
        return (pa.types.is_list(type_) or pa.types.is_large_list(type_)) and is_element(
            type_.value_type
        )

    return check


# BigQuery's type -> whether an Arrow type is its type in a Parquet file. DATETIME is a timestamp
# without a zone or, in older exports, ISO text.
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
    TEXT: ("STRING",),
}


@dataclass(frozen=True)
class TableFeature:
    """A feature. name: in the experiment file; column: in the Parquet files."""

    name: str
    column: str
    type: str
    kind: str

    @property
    def title(self) -> str:
        """Name in messages."""
        of = "" if self.column == self.name else f" (column {self.column})"
        return f"feature {self.name!r}{of}"


@dataclass(frozen=True)
class Columns:
    """columns.json; the module's docstring explains the fields.

    sha256: of the file's bytes. findings: what the data checks found, in sentences. weight: None
    where all rows count the same. positive: the positive class; None: the second in natural order.
    """

    task: str
    split: Split
    key: str
    label: str
    features: tuple[TableFeature, ...]
    vocabulary: int
    source: Mapping[str, object]
    sha256: str
    findings: tuple[str, ...] = ()
    weight: str | None = None
    positive: str | None = None

    def of(self, *kinds: str) -> list[TableFeature]:
        """The features of these kinds, in order."""
        return [feature for feature in self.features if feature.kind in kinds]

    @property
    def is_regression(self) -> bool:
        """True if the label is a number to predict."""
        return self.task == REGRESSION

    @property
    def is_multilabel(self) -> bool:
        """True if a row has any number of classes."""
        return self.task == MULTILABEL

    def classes_in(self, label: str) -> list[str]:
        """The names of a row's classes."""
        return classes_in(label, self.task)

    @property
    def is_grouped(self) -> bool:
        """True if groups decide the split: the column SPLIT_BY has each row's."""
        return self.split.by is not None

    @property
    def names(self) -> list[str]:
        """The columns to read from the Parquet files."""
        return [*self.roles, *(feature.column for feature in self.features)]

    @property
    def roles(self) -> dict[str, str]:
        """The columns other than features: BigQuery's type of each."""
        return {
            "key": "STRING",
            "split": "STRING",
            "label": "FLOAT64" if self.is_regression else "STRING",
            **({SPLIT_BY: "STRING"} if self.is_grouped else {}),
            **({WEIGHT: "FLOAT64"} if self.weight is not None else {}),
        }

    def check_schema(self, schema: pa.Schema, where: str) -> None:
        """Raise ExportError, naming the differences, unless a Parquet file has these columns."""
        expected = self.roles | {feature.column: feature.type for feature in self.features}
        wrong = []
        for column, type_ in expected.items():
            if schema.get_field_index(column) < 0:
                wrong.append(f"column {column} is missing")
            elif not _ARROW[type_](schema.field(column).type):
                wrong.append(f"column {column} is {schema.field(column).type}, not {type_}")
        if wrong:
            more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise ExportError(
                f"{where} does not match columns.json: {'; '.join(wrong[:5])}{more}. "
                "Export the snapshot again, and columns.json with it"
            )


def parse(content: bytes, address: str) -> Columns:
    """Parse the columns.json read from `address`. Raises ExportError if it is invalid."""
    try:
        document = documents.parse("columns", content, address)
    except ContractError as error:
        raise ExportError(str(error)) from error
    columns = Columns(
        task=document["task"],
        split=_split(document["split"]),
        key=document["key"]["name"],
        label=document["label"]["name"],
        features=tuple(TableFeature(**entry) for entry in document["features"]),
        vocabulary=document["vocabulary"],
        source=document["source"],
        sha256=hashlib.sha256(content).hexdigest(),
        findings=tuple(entry["text"] for entry in document.get("findings", ())),
        weight=document["weight"]["name"] if "weight" in document else None,
        positive=document.get("positive"),
    )
    try:
        _check(columns)
    except ExportError as error:
        raise ExportError(f"{address}: {error}") from error
    return columns


def _split(document: Mapping) -> Split:
    if "rule" in document:
        return Split(document["rule"])
    by = document.get("by")
    ranges = {name: tuple(document[name]) for name in SPLITS}
    return Split(HASH_RULE if by is None else GROUP_RULE, ranges, by)


def _check(columns: Columns) -> None:
    """Raise ExportError for what the schema cannot express."""
    ranges = columns.split.ranges
    edges = [edge for split in SPLITS for edge in ranges[split]] if ranges else []
    if (edges and (edges[0], edges[-1]) != (0, BUCKETS)) or edges[1:5:2] != edges[2:5:2]:
        raise ExportError(f"the split's ranges {edges} do not cover 0..{BUCKETS - 1} in order")
    for attribute in ("name", "column"):
        values = [getattr(feature, attribute) for feature in columns.features]
        if repeated := sorted({value for value in values if values.count(value) > 1}):
            raise ExportError(f"two features have the {attribute} {repeated[0]!r}")
    for feature in columns.features:
        reserved = columns.roles
        if not _PLAIN_NAME.fullmatch(feature.column) or feature.column in reserved:
            raise ExportError(
                f"{feature.title}: a column's name is a plain identifier other than "
                f"{', '.join(reserved)}"
            )
        if feature.type not in _TYPES[feature.kind]:
            raise ExportError(
                f"{feature.title} is {feature.kind} of type {feature.type}; that kind is of type "
                f"{' or '.join(_TYPES[feature.kind])}"
            )
