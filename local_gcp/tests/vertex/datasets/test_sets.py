"""The sets of managed datasets: rows of a table in files, and images by their labels."""

import pyarrow.parquet as pq
import pytest
from google.cloud import aiplatform_v1 as api

from local_gcp.vertex.datasets import sets
from local_gcp.vertex.datasets.dataset_service import IMAGE, TABULAR
from local_gcp.vertex.datasets.importing import ML_USE, Item
from local_gcp.vertex.tables import Tables
from local_gcp.wire import RpcError


@pytest.fixture
def split(tmp_path):
    """split(config fields): {set: its rows} of a table of 20 rows with a set and a text."""
    folder = tmp_path / "bucket"
    folder.mkdir()
    lines = ["number,set,text"]
    for n in range(20):
        lines.append(f'{n},{("training", "training", "validation", "test")[n % 4]},"a, ""b"" {n}"')
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    source = {"inputConfig": {"gcsSource": {"uri": ["gs://bucket/rows.csv"]}}}
    dataset = api.Dataset(display_name="t", metadata_schema_uri=TABULAR, metadata=source)

    def split(**config):
        config = api.InputDataConfig(**config)
        files = sets.split_table(Tables(tmp_path), dataset, config, tmp_path / "work")
        return {name: pq.read_table(file) for name, file in files.items()}

    return split


def numbers(parts):
    return {name: [int(n) for n in part["number"].to_pylist()] for name, part in parts.items()}


def test_a_table_by_its_predefined_split(split):
    parts = split(predefined_split={"key": "set"})
    found = numbers(parts)
    assert found["validation"] == [2, 6, 10, 14, 18]
    assert found["test"] == [3, 7, 11, 15, 19]
    assert len(found["training"]) == 10
    assert parts["test"]["text"][0].as_py() == 'a, "b" 3', "as it came"


def test_a_table_by_fractions(split):
    fractions = {"training_fraction": 0.5, "test_fraction": 0.25}
    found = numbers(split(fraction_split=fractions))
    assert [len(rows) for rows in found.values()] == [10, 5, 5]
    assert sorted(n for rows in found.values() for n in rows) == list(range(20))


def test_images_by_a_filter():
    use = f"labels.{ML_USE}"
    names = ["training", "test", "training", "validation"]
    items = [Item(f"gs://b/{n}.png", "a", {ML_USE: name}) for n, name in enumerate(names)]
    filters = {"training": f"{use}=training", "validation": "-", "test": f"{use}=test"}
    config = {"filter_split": {f"{name}_filter": text for name, text in filters.items()}}
    assert sets.assign_items(items, api.InputDataConfig(**config)).tolist() == [0, 2, 0, -1]


def test_a_split_that_leaves_nothing_to_train_on_is_refused(split):
    with pytest.raises(RpcError, match="leaves no training data: 20 rows or images"):
        split(predefined_split={"key": "text"})
    with pytest.raises(RpcError, match="no column 'use'"):
        split(predefined_split={"key": "use"})


def test_a_filter_that_cannot_be_read_is_refused():
    dataset = api.Dataset(metadata_schema_uri=IMAGE)
    filters = {"training_filter": "(", "validation_filter": "-", "test_filter": "-"}
    with pytest.raises(RpcError, match="expected a field"):
        sets.check(api.InputDataConfig(filter_split=filters), dataset, "input_data_config")
