"""A custom training over a managed dataset: the data that its program finds."""

import csv
import json

import pytest
from google.api_core import exceptions

from local_gcp.vertex.datasets.dataset_service import IMAGE, SINGLE_LABEL, TABULAR
from local_gcp.vertex.datasets.items import CLASSIFICATION
from local_gcp.vertex.training import CUSTOM_TASK

SHOW = """
import glob, json, os
root = os.environ["GCS_ROOT"] + "/"
seen = {"format": os.environ["AIP_DATA_FORMAT"]}
for name in ("TRAINING", "VALIDATION", "TEST"):
    uri = os.environ[f"AIP_{name}_DATA_URI"]
    (file,) = glob.glob(uri.replace("gs://", root))
    seen[name] = [uri, file]
print(json.dumps(seen))
"""


def create(vertex, schema, metadata=None):
    dataset = {"display_name": "data", "metadata_schema_uri": schema, "metadata": metadata}
    request = {"parent": vertex.parent, "dataset": dataset}
    return vertex.datasets.create_dataset(request=request).result(timeout=60).name


@pytest.fixture
def table(vertex, home):
    """A tabular dataset of 20 rows with a set, a time and a text that needs quotes."""
    (home.buckets / "bucket").mkdir(exist_ok=True)
    lines = ["number,set,time,text"]
    for n in range(20):
        name = ("training", "training", "validation", "test")[n % 4]
        lines.append(f'{n},{name},2024-01-{20 - n:02}T00:00:00Z,"a, ""b"" {n}"')
    (home.buckets / "bucket/rows.csv").write_text("\n".join(lines) + "\n")
    config = {"gcsSource": {"uri": ["gs://bucket/rows.csv"]}}
    return create(vertex, TABULAR, {"inputConfig": config})


@pytest.fixture
def images(vertex, home):
    """A dataset of 10 images, with uses."""
    folder = home.buckets / "bucket"
    folder.mkdir(exist_ok=True)
    lines = []
    for n in range(10):
        (folder / f"{n}.png").write_bytes(b"pixels")
        lines.append(f"{('training', 'test')[n % 2]},gs://bucket/{n}.png,{'ab'[n % 2]}")
    (folder / "manifest.csv").write_text("\n".join(lines))
    name = create(vertex, IMAGE)
    config = {"gcs_source": {"uris": ["gs://bucket/manifest.csv"]}}
    config["import_schema_uri"] = SINGLE_LABEL
    vertex.datasets.import_data(name=name, import_configs=[config]).result(timeout=60)
    return name


@pytest.fixture
def run(vertex, until, home):
    """run(dataset, split...): what the program of a custom training printed; see SHOW."""

    def wait(dataset, code=SHOW, **config):
        config = {
            "dataset_id": dataset.rpartition("/")[2],
            "gcs_destination": {"output_uri_prefix": "gs://bucket/out"},
            **config,
        }
        pipeline = vertex.pipelines.create_training_pipeline(
            parent=vertex.parent,
            training_pipeline={
                "display_name": "train",
                "training_task_definition": CUSTOM_TASK,
                "training_task_inputs": {"worker_pool_specs": [vertex.pool(code)]},
                "input_data_config": config,
            },
        )
        get = vertex.pipelines.get_training_pipeline
        done = until(lambda: (p := get(name=pipeline.name)).end_time and p)
        assert done.state.name == "PIPELINE_STATE_SUCCEEDED", done.error.message
        job = done.training_task_metadata["backingCustomJob"].rpartition("/")[2]
        log = (home.jobs / job / "workerpool0-0/log").read_text()
        return json.loads(log.splitlines()[-1])

    return wait


def rows(seen):
    """{set: numbers of its rows}."""
    result = {}
    for name in ("TRAINING", "VALIDATION", "TEST"):
        with open(seen[name][1], newline="") as file:
            result[name.lower()] = [int(row["number"]) for row in csv.DictReader(file)]
    return result


def test_a_table_by_its_predefined_split(run, table):
    seen = run(table, predefined_split={"key": "set"})
    assert seen["format"] == "csv"
    number = table.rpartition("/")[2]
    assert seen["TRAINING"][0].startswith(f"gs://bucket/out/dataset-{number}-tables-20")
    assert seen["TRAINING"][0].endswith("Z/training-*.csv")
    sets = rows(seen)
    assert sets["validation"] == [2, 6, 10, 14, 18]
    assert sets["test"] == [3, 7, 11, 15, 19]
    assert len(sets["training"]) == 10
    with open(seen["TEST"][1], newline="") as file:
        assert next(csv.DictReader(file))["text"] == 'a, "b" 3', "as it came"


def test_a_table_by_fractions_and_by_time(run, table):
    sets = rows(run(table, fraction_split={"training_fraction": 0.5, "test_fraction": 0.25}))
    assert [len(rows) for rows in sets.values()] == [10, 5, 5]
    assert sorted(n for numbers in sets.values() for n in numbers) == list(range(20))

    split = {"training_fraction": 0.8, "validation_fraction": 0.1, "test_fraction": 0.1}
    sets = rows(run(table, timestamp_split={**split, "key": "time"}))
    assert sets["test"] == [0, 1], "the latest"
    assert sets["training"] == list(range(4, 20)), "the earliest"


def test_images_by_a_filter(run, images):
    use = "labels.aiplatform.googleapis.com/ml_use"
    seen = run(
        images,
        annotation_schema_uri=CLASSIFICATION,
        filter_split={
            "training_filter": f"{use}=training",
            "validation_filter": "-",
            "test_filter": f"{use}=test",
        },
    )
    assert seen["format"] == "jsonl"
    assert seen["TRAINING"][0].endswith("/training-*.jsonl")
    assert "-image_classification-20" in seen["TRAINING"][0]
    lines = {}
    for name in ("TRAINING", "VALIDATION", "TEST"):
        with open(seen[name][1]) as file:
            lines[name] = [json.loads(line) for line in file]
    assert [line["imageGcsUri"] for line in lines["TEST"]] == [
        f"gs://bucket/{n}.png" for n in (1, 3, 5, 7, 9)
    ]
    assert lines["VALIDATION"] == []
    assert lines["TRAINING"][0]["classificationAnnotation"]["displayName"] == "a"


def test_a_split_that_leaves_nothing_to_train_on_fails_the_pipeline(run, table):
    with pytest.raises(AssertionError, match="leaves no training data: 20 rows or images"):
        run(table, predefined_split={"key": "text"})
    with pytest.raises(AssertionError, match="no column 'use'"):
        run(table, predefined_split={"key": "use"})


def test_what_is_refused(run, table, images):
    with pytest.raises(exceptions.InvalidArgument, match="gcs_destination or bigquery_destination"):
        run(table, gcs_destination=None)
    with pytest.raises(exceptions.InvalidArgument, match="with a BigQuery source"):
        run(table, gcs_destination=None, bigquery_destination={"output_uri": "bq://local-gcp"})
    with pytest.raises(exceptions.InvalidArgument, match="annotation_schema_uri"):
        run(images)
    with pytest.raises(exceptions.InvalidArgument, match="expected a field"):
        run(
            images,
            annotation_schema_uri=CLASSIFICATION,
            filter_split={"training_filter": "(", "validation_filter": "-", "test_filter": "-"},
        )
    with pytest.raises(exceptions.NotFound):
        run(f"{table}0")
