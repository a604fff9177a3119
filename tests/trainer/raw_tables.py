"""Datasets of a table with the raw rows that they were made of beside them, as in a bucket."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from testbed.tables import write_table
from trellis_contracts.dataset import SPLITS

_ARROW = {
    "timestamp": pa.timestamp("us", "UTC"),
    "sequence": pa.list_(pa.float64()),
    "categorical": pa.string(),
    "boolean": pa.bool_(),
    "numeric": pa.float64(),
    "text": pa.string(),
}


def write_with_source(folder, columns, label, files, **options) -> str:
    """Write the table like write_table, and source/rows-*.parquet in two files; return the
    address.
    """
    address = write_table(folder, columns, label, files=files, **options)
    splits = [split for split in SPLITS for _ in range(sum(files[split]))]
    regression = options.get("task") == "regression"
    table = {
        "key": [str(row) for row in range(len(label))],
        "split": splits,
        "label": [float(value) if regression else str(value) for value in label],
    }
    table |= {name: pa.array(values, _ARROW[kind]) for name, (kind, values) in columns.items()}
    write_rows(folder, pa.table(table))
    return address


def write_rows(folder, table) -> None:
    """The raw rows of the dataset in a folder, the later half first."""
    source = Path(folder) / "source"
    source.mkdir(exist_ok=True)
    half = len(table) // 2
    pq.write_table(table.slice(half), source / "rows-000000000000.parquet", row_group_size=7)
    pq.write_table(table.slice(0, half), source / "rows-000000000001.parquet")


def redescribe(address, **changed) -> None:
    """Change fields of dataset.json."""
    path = Path(address) / "dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
