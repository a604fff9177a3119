"""The description of a table's Parquet files, checked against the files and itself."""

import hashlib
import re
from dataclasses import dataclass, replace

import pyarrow as pa

from trainer.exporting import ExportError
from trainer.exporting.splits import BUCKETS
from trainer.exporting.tables import labels
from trellis_contracts import documents
from trellis_contracts.columns import Columns
from trellis_contracts.dataset import SPLITS, Split
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
)
from trellis_contracts.documents import ContractError
from trellis_contracts.tasks import LABEL_KEYS, TASKS

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
    IMAGE: ("STRING",),
}


@dataclass(frozen=True, kw_only=True)
class SnapshotColumns(Columns):
    """The columns.json of one export. sha256: of the file's bytes."""

    sha256: str

    def of_part(self, part: str | None) -> "SnapshotColumns":
        """The columns of a part of the folds; of None, these. Raises ExportError without folds."""
        if part is None:
            return self
        if self.folds is None:
            raise ExportError("columns.json names no folds")
        return replace(self, part=part, split=Split(self.folds.rule(part), by=self.split.by))

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


def parse(content: bytes, address: str) -> SnapshotColumns:
    """Parse the columns.json read from `address`. Raises ExportError if it is invalid."""
    try:
        document = documents.parse("columns", content, address)
    except ContractError as error:
        raise ExportError(str(error)) from error
    columns = SnapshotColumns.from_document(document, sha256=hashlib.sha256(content).hexdigest())
    try:
        _check(columns)
    except ExportError as error:
        raise ExportError(f"{address}: {error.text}") from error
    return columns


def _check(columns: Columns) -> None:
    """Raise ExportError for what the schema cannot express."""
    ranges = columns.split.ranges
    edges = [edge for split in SPLITS for edge in ranges[split]] if ranges else []
    if (edges and (edges[0], edges[-1]) != (0, BUCKETS)) or edges[1:5:2] != edges[2:5:2]:
        raise ExportError(f"the split's ranges {edges} do not cover 0..{BUCKETS - 1} in order")
    for name in LABEL_KEYS:
        if bool(getattr(columns, name)) != (name in TASKS[columns.task].label_keys):
            has = "has no" if name in TASKS[columns.task].label_keys else "has"
            raise ExportError(f"the task is {columns.task}, and the file {has} {name!r}")
    if labels.of(columns).of_files and not columns.of(IMAGE):
        raise ExportError(f"a {columns.task} has images, and the file names none")
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
        if (feature.kind == IMAGE) != (feature.image is not None):
            raise ExportError(f"{feature.title}: an image, and nothing else, has the form `image`")
