"""dataset.json comes back as it was written; what is no description is refused by name."""

import json
import subprocess
import sys

import pytest

from trainer import dataset_description, storage
from trainer.dataset_description import (
    HASH_RULE,
    SPLITS,
    Counts,
    DatasetDescription,
    DatasetError,
    Feature,
    Shard,
    Split,
    shard_name,
)


def some_description(**changed):
    fields = {
        "fingerprint": "3f2a",
        "source": {"manifest": "gs://b/manifest.csv", "sha256": "00", "lines": 7},
        "split": Split(HASH_RULE, {"train": (0, 80), "validation": (80, 90), "test": (90, 100)}),
        "features": (Feature("image", "image", "uint8", "png", (8, 6, 1)),),
        "classes": ("chat", "été"),
        "counts": {split: Counts(2, {"chat": 1, "été": 1}) for split in SPLITS},
        "files": {split: (Shard(shard_name(split, 0, 1), 2, 300),) for split in SPLITS},
        "rejected": 1,
        "warnings": ("careful",),
    }
    return DatasetDescription(**(fields | changed))


def test_a_written_description_comes_back(tmp_path):
    description = some_description()
    storage.write_text(tmp_path / "dataset.json", description.to_json())
    assert dataset_description.load(str(tmp_path)) == description


def test_a_split_by_column_has_no_ranges():
    description = some_description(split=Split("column ML_USE"))
    assert json.loads(description.to_json())["split"] == {"rule": "column ML_USE"}
    assert DatasetDescription.from_json(description.to_json()) == description


def test_the_document_has_the_documented_form():
    document = json.loads(some_description().to_json())
    assert document["schema"] == 1
    assert document["features"][0]["shape"] == [8, 6, 1]
    assert document["label"] == {"name": "label", "dtype": "int64"}
    assert document["files"]["test"] == [
        {"name": "test-00000-of-00001.tfrecord", "examples": 2, "bytes": 300}
    ]
    assert document["bytes"] == 900


def test_shards_are_addressed_below_the_dataset():
    assert some_description().uris("gs://b/digits/datasets/3f2a/", "train") == [
        "gs://b/digits/datasets/3f2a/train-00000-of-00001.tfrecord"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no dataset description"),
        ("[]", "not a dataset description"),
        ('{"fingerprint": "3f2a"}', "lacks the key 'schema'"),
        ('{"schema": 2}', "schema 2; this trainer reads schema 1"),
        ('{"schema": 1}', "lacks the key 'fingerprint'"),
    ],
)
def test_what_is_no_description_is_refused_with_its_address(text, message):
    with pytest.raises(DatasetError) as refused:
        DatasetDescription.from_json(text, "gs://b/dataset.json")
    assert message.removeprefix("no ") in str(refused.value)
    assert "gs://b/dataset.json" in str(refused.value)


def test_a_folder_without_the_commit_mark_is_no_dataset(tmp_path):
    (tmp_path / shard_name("train", 0, 1)).touch()
    with pytest.raises(DatasetError, match="no dataset has been committed"):
        dataset_description.load(str(tmp_path))


def test_reading_a_description_costs_no_heavy_import():
    program = "import sys, trainer.dataset_description; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    assert not {"numpy", "tensorflow", "apache_beam", "google.cloud.storage"} & set(loaded)
