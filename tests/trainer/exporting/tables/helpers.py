"""Tables as BigQuery's export and the Airflow side leave them: Parquet files and columns.json."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tensorflow as tf

from trainer import dataset_description, export
from trainer.exporting.splits import assign
from trellis_contracts.dataset import SPLITS

ROWS = 300
KEYS = [f"été/{number}" for number in range(ROWS)]
RANGES = {"train": (0, 80), "validation": (80, 90), "test": (90, 100)}


def feature(column, kind="numeric", type_="FLOAT64", name=None):
    return {"name": name or column, "column": column, "type": type_, "kind": kind}


SOURCE = {"table": "p.d.t", "query": None, "partition": None, "snapshot": "p.d.snapshot_f"}
"""`source` of columns.json, but for the number of rows."""

SMALL = [feature("x", name="the x"), feature("s", "categorical", "STRING")]


def document(features, rows, **changed):
    """columns.json, parsed."""
    return {
        "schema": 1,
        "task": "binary_classification",
        "split": {split: list(edges) for split, edges in RANGES.items()},
        "key": {"name": "sample_id"},
        "label": {"name": "malignant"},
        "features": features,
        "vocabulary": 1000,
        "source": SOURCE | {"rows": rows},
    } | changed


def split_of(keys):
    """The `split` column, as the snapshot's SQL makes it."""
    return [SPLITS[i] for i in assign([key or "" for key in keys], RANGES).tolist()]


def write_table(folder, columns, features, files=1, row_group_size=None, **changed):
    """Write key, split (if it is not among the columns), label and features; columns.json's path.

    columns: name -> values or Arrow array.
    """
    if "split" not in columns:
        splits = pa.array(split_of(pa.array(columns["key"]).to_pylist()), pa.string())
        columns = {"split": splits, **columns}
    table = pa.table(columns)
    folder.mkdir(parents=True, exist_ok=True)
    edges = np.linspace(0, len(table), files + 1).astype(int)
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        path = folder / f"rows-{number:012d}.parquet"
        pq.write_table(table.slice(start, end - start), path, row_group_size=row_group_size)
    path = folder / "columns.json"
    path.write_text(json.dumps(document(features, len(table), **changed)), encoding="utf-8")
    return path


def read_examples(folder, split):
    """Every example of a split as {feature: list of values}, in the order of the files."""
    description = dataset_description.load(str(folder))
    for record in tf.data.TFRecordDataset(description.uris(str(folder), split)):
        parsed = tf.train.Example.FromString(record.numpy()).features.feature
        yield {
            name: list(getattr(value, value.WhichOneof("kind")).value)
            for name, value in parsed.items()
        }


def small(**changed):
    """A table with one numeric and one categorical feature; changed: columns."""
    table = {
        "key": KEYS,
        "label": ["a", "b"] * (ROWS // 2),
        "x": [float(i) for i in range(ROWS)],
        "s": ["red", "blue", "green"] * (ROWS // 3),
    }
    return table | changed


def run(source, output, *others, shards=3):
    flags = {"source": source, "output": output, "fingerprint": "f", "shards": shards}
    return export.main([*(f"--{name}={value}" for name, value in flags.items()), *others])


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def take(table, order):
    """The rows of a dictionary of columns in another order."""
    return {
        name: pa.array(values).take(pa.array(order, pa.int64())) for name, values in table.items()
    }
