"""Values of a dataset that must never change: splits and records of the shipped examples' data.

A dataset is reused by its fingerprint, so an export by later code must write what an earlier one
wrote, byte for byte. The inputs are the first rows of what the demo uploads. The values change only
together with a version that is part of the fingerprint (DATASET_VERSION, IMAGE_RULE).
"""

import hashlib
import itertools
import json
from pathlib import Path

import cv2
import pyarrow as pa
import pytest

from demo import breast_cancer_data, digits_data, heartbeats_data, patients_data
from testbed.manifests import export_flags
from tests.trainer.exporting.tables.helpers import feature, run, write_table
from trainer import dataset_description, export
from trainer.exporting.splits import assign
from trellis_contracts.dataset import SPLITS

ROWS = 400
HALF_OPEN = {"train": (0, 80), "validation": (80, 90), "test": (90, 100)}
BY_PATIENT = {"train": (0, 70), "validation": (70, 85), "test": (85, 100)}

# By experiment: its table, key, label, columns that are no features, and task.
TABLES = {
    "breast-cancer": (
        breast_cancer_data,
        ("sample_id", "malignant", "measured_on"),
        "binary_classification",
    ),
    "patients": (patients_data, ("visit", "readmitted", "patient"), "binary_classification"),
    "heartbeats": (heartbeats_data, ("recording", "rhythm"), "binary_classification"),
}
KINDS = {"FLOAT64": "numeric", "INT64": "numeric", "STRING": "categorical", "DATE": "timestamp"}
ARROW = {
    "FLOAT64": pa.float64(),
    "INT64": pa.int64(),
    "STRING": pa.string(),
    "ARRAY<FLOAT64>": pa.list_(pa.float64()),
}


def columns_of(name):
    """Return the first rows of an experiment's table, as the snapshot and columns.json have
    them.
    """
    module, (key, label, *others), task = TABLES[name]
    fields, rows = module.table()
    rows = list(itertools.islice(rows, ROWS))
    features, columns = [], {}
    for field in fields:
        if field.name in (key, label, *others):
            continue
        type_ = {"FLOAT": "FLOAT64", "INTEGER": "INT64"}.get(field.field_type, field.field_type)
        type_, kind = (
            (f"ARRAY<{type_}>", "sequence") if field.mode == "REPEATED" else (type_, KINDS[type_])
        )
        features.append(feature(field.name, kind, type_))
        columns[field.name] = pa.array([row.get(field.name) for row in rows], ARROW[type_])
    labels = [str(row[label]) for row in rows]
    labels = [text.lower() if text in ("True", "False") else text for text in labels]
    keys = [row[key] for row in rows]
    split = {split: list(edges) for split, edges in HALF_OPEN.items()}
    deciding, ranges = keys, HALF_OPEN
    if name == "patients":
        deciding, ranges = [row["patient"] for row in rows], BY_PATIENT
        columns["split_by"] = deciding
        split = {split: list(edges) for split, edges in BY_PATIENT.items()} | {"by": "patient"}
    splits = [SPLITS[i] for i in assign(deciding, ranges)]
    columns = {"key": keys, "split": splits, "label": labels, **columns}
    described = {"task": task, "split": split, "key": {"name": key}, "label": {"name": label}}
    return columns, features, described


def sha256(content):
    return hashlib.sha256(content).hexdigest()[:16]


def written(folder):
    """Return for each split the number of examples and a digest of its TFRecord files in order; and
    a digest of dataset.json without its source, which has addresses.
    """
    description = dataset_description.load(str(folder))
    content = json.loads((folder / "dataset.json").read_text())
    del content["source"]
    return {
        split: (
            description.examples(split),
            sha256(b"".join((folder / s.name).read_bytes() for s in description.files[split])),
        )
        for split in SPLITS
    } | {"dataset.json": sha256(json.dumps(content).encode())}


@pytest.mark.parametrize(
    ("name", "splits", "records"),
    [
        (
            "breast-cancer",
            "fe6113b4219343bd",
            {
                "train": (322, "097acf7262706db6"),
                "validation": (36, "66fe56c50901f912"),
                "test": (42, "1634a2f5cd64febd"),
                "dataset.json": "5adbc9a1c67edfa3",
            },
        ),
        (
            "patients",
            "d29a32dc53525b1e",
            {
                "train": (310, "bafe3f5403857f0d"),
                "validation": (36, "0592aa2d038a0688"),
                "test": (54, "52845e7f0265556d"),
                "dataset.json": "94080e6f4f8eefa6",
            },
        ),
        (
            "heartbeats",
            "7f15f64742b3da8b",
            {
                "train": (331, "bc0f02f07e83d952"),
                "validation": (36, "4ffe995e04c080e3"),
                "test": (33, "b7faa103326bd44b"),
                "dataset.json": "4c77d5966bb866d5",
            },
        ),
    ],
)
def test_of_a_table(tmp_path, name, splits, records):
    columns, features, described = columns_of(name)
    assigned = "".join(f"{k} {s}\n" for k, s in zip(columns["key"], columns["split"], strict=True))
    assert sha256(assigned.encode()) == splits
    source = write_table(tmp_path / "source", columns, features, **described)
    assert run(source, tmp_path / "dataset", shards=2) == 0
    assert written(tmp_path / "dataset") == records


def test_of_images(tmp_path, monkeypatch):
    # Keys are paths below the bucket: here, below the working folder.
    monkeypatch.chdir(tmp_path)
    lines = []
    (tmp_path / "images").mkdir()
    for name, label, pixels in itertools.islice(digits_data.digits(), ROWS):
        cv2.imwrite(f"images/{name}.png", pixels)
        lines.append(f"images/{name}.png,{label}\n")
    (tmp_path / "manifest.csv").write_text("".join(lines))
    form = {"image_size": 8, "channels": 1, "encoding": "png", "shards": 4}
    source, output = Path("manifest.csv"), Path("dataset")
    assert export.main(export_flags(source, output, "f", **form)) == 0
    assert written(tmp_path / "dataset") == {
        "train": (315, "c9341924e0179547"),
        "validation": (43, "b086ce084259e92c"),
        "test": (42, "178d8893aabd8d40"),
        "dataset.json": "44c1c8b096822114",
    }
