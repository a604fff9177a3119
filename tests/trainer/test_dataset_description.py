"""dataset.json comes back as it was written; what is no description is refused by name."""

import json
import subprocess
import sys
from dataclasses import asdict

import pytest

from trainer import dataset_description, storage
from trellis_contracts.dataset import (
    HASH_RULE,
    SPLITS,
    Counts,
    DatasetDescription,
    DatasetError,
    Shard,
    Split,
    shard_name,
)
from trellis_contracts.dataset_features import Feature, Label, Statistics, TermStatistics


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
    assert document["schema"] == 2
    assert document["task"] is None
    assert document["features"] == [
        {
            "name": "image",
            "kind": "image",
            "dtype": "uint8",
            "encoding": "png",
            "shape": [8, 6, 1],
            "column": "image",
            "rule": 2,
        }
    ]
    assert document["label"] == {"name": "label", "dtype": "int64"}
    assert document["files"]["test"] == [
        {"name": "test-00000-of-00001.tfrecord", "examples": 2, "bytes": 300}
    ]
    assert document["bytes"] == 900


def some_table(**changed):
    numbers = Statistics(450, 5, 14.1, 3.5, 6.9, 28.1, tuple(float(i) for i in range(21)))
    lengths = {"min_length": 0, "max_length": 80, "mean_length": 42.5}
    sequence = Statistics(**(asdict(numbers) | lengths))
    features = (
        Feature("radius mean", "numeric", "float32", None, (), "radius_mean", 0, None, numbers),
        Feature(
            "Ort",
            "categorical",
            "int64",
            column="Ort",
            index=0,
            vocabulary=("links", "rechts"),
            statistics=TermStatistics(455, 0, 3, (300, 152)),
        ),
        Feature("puls", "sequence", "float32", None, (None,), "puls", None, None, sequence),
        Feature("smoker", "boolean", "float32", None, (), "smoker", 1, None, numbers),
        Feature("taken", "timestamp", "int64", None, (), "taken", 0, None, numbers),
    )
    fields = {
        "task": "regression",
        "features": features,
        "label": Label("label", "float32", "survival", numbers),
        "classes": (),
        "counts": {split: Counts(2, {}) for split in SPLITS},
    }
    return some_description(**(fields | changed))


def test_a_table_comes_back(tmp_path):
    storage.write_text(tmp_path / "dataset.json", some_table().to_json())
    assert dataset_description.load(str(tmp_path)) == some_table()


def test_a_tables_document_has_what_applies_and_no_more():
    document = json.loads(some_table().to_json())
    assert document["features"][1] == {
        "name": "Ort",
        "kind": "categorical",
        "dtype": "int64",
        "shape": [],
        "column": "Ort",
        "index": 0,
        "vocabulary": ["links", "rechts"],
        "statistics": {"count": 455, "missing": 0, "other": 3, "frequencies": [300, 152]},
    }
    assert document["features"][2]["shape"] == [None]
    assert document["features"][2]["statistics"]["mean_length"] == 42.5
    assert "min_length" not in document["features"][0]["statistics"]
    assert document["label"]["column"] == "survival"
    assert document["counts"]["test"] == {"examples": 2, "classes": {}}


def test_a_dataset_tells_images_from_tables_and_classes_from_values():
    assert (some_description().inputs == {"image"}, some_description().is_regression) == (
        True,
        False,
    )
    assert (some_table().inputs == {"image"}, some_table().is_regression) == (False, True)


def test_features_are_found_in_the_record():
    table = some_table()
    assert [feature.index for feature in table.features_of("numeric", "boolean")] == [0, 1]
    assert [feature.record_name for feature in table.features] == [
        "numeric",
        "categorical",
        "sequence/puls",
        "numeric",
        "timestamp",
    ]
    assert some_description().features[0].record_name == "image"


def test_no_description_holds_what_is_no_json():
    numbers = Statistics(1, 0, float("nan"), 0.0, 0.0, 0.0, (0.0,) * 21)
    with pytest.raises(ValueError, match="not JSON compliant"):
        some_table(label=Label(statistics=numbers)).to_json()


def test_shards_are_addressed_below_the_dataset():
    folder = "gs://b/digits/datasets/3f2a/"
    (shard,) = some_description().uris(folder, "train")
    assert shard == f"{folder}train-00000-of-00001.tfrecord"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("[]", "the document: expected object, got []"),
        ('{"fingerprint": "3f2a"}', "the key 'schema' is missing"),
        ('{"schema": 2}', "the key 'fingerprint' is missing"),
    ],
)
def test_what_is_no_description_is_refused_with_its_address(text, message):
    with pytest.raises(DatasetError) as refused:
        DatasetDescription.from_json(text, "gs://b/dataset.json")
    assert message in str(refused.value)
    assert "gs://b/dataset.json" in str(refused.value)


@pytest.mark.parametrize("old", [{}, {"rule": 1}])
def test_images_by_an_older_rule_are_not_taken_for_new_ones(old):
    document = json.loads(some_description().to_json())
    (image,) = document["features"]
    del image["rule"]
    image |= old
    with pytest.raises(DatasetError, match=r"images by rule 1; this trainer .* by rule 2"):
        DatasetDescription.from_json(json.dumps(document), "gs://b/dataset.json")


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
