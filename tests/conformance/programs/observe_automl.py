"""AutoML of tables and images: observe_automl.py BUCKET, whose dashes are none."""

import base64
import io
import json
import random
import re
import sys
from typing import Any

from google.cloud import bigquery, storage
from google.protobuf import struct_pb2
from observing import (
    DATASETS,
    ENDPOINTS,
    JOBS,
    MACHINE,
    MODELS,
    PARENT,
    PIPELINES,
    PREDICTIONS,
    PROJECT,
    accepted,
    client,
    ended,
    fields,
    operation,
    response,
    shape,
    show,
    states,
)
from PIL import Image

BUCKET = sys.argv[1]
bucket = storage.Client(PROJECT).create_bucket(BUCKET)
datasets, pipelines, jobs = client(DATASETS), client(PIPELINES), client(JOBS)
models, endpoints, predictions = client(MODELS), client(ENDPOINTS), client(PREDICTIONS)
bigquery_client = bigquery.Client(PROJECT)
bigquery_client.create_dataset(BUCKET)
SCHEMA = "gs://google-cloud-aiplatform/schema"
TASK = f"{SCHEMA}/trainingjob/definition/automl_tabular_1.0.0.yaml"
IMAGE_TASK = f"{SCHEMA}/trainingjob/definition/automl_image_classification_1.0.0.yaml"
found: dict[str, Any] = {}

dice = random.Random(1)
cells = ["size,shape,label,weight"]
for _ in range(120):
    size = dice.uniform(0, 10)
    label = "malignant" if size > 5 else "benign"
    cells.append(f"{size:.3f},{dice.choice('ab')},{label},{2 * size + dice.gauss(0, 0.1):.3f}")
bucket.blob("cells.csv").upload_from_string("\n".join(cells) + "\n")
manifest = []
for number in range(60):
    content = io.BytesIO()
    colour = (255, number, 0) if number % 2 else (0, number, 255)
    Image.new("RGB", (12, 12), colour).save(content, "PNG")
    bucket.blob(f"{number}.png").upload_from_string(content.getvalue())
    manifest.append(f"gs://{BUCKET}/{number}.png,{'red' if number % 2 else 'blue'}")
bucket.blob("manifest.csv").upload_from_string("\n".join(manifest))
bucket.blob("images.jsonl").upload_from_string(
    "\n".join(f'{{"content": "gs://{BUCKET}/{n}.png", "mimeType": "image/png"}}' for n in (0, 1))
)

table = {
    "display_name": "cells",
    "metadata_schema_uri": f"{SCHEMA}/dataset/metadata/tabular_1.0.0.yaml",
}
table["metadata"] = {"input_config": {"gcs_source": {"uri": [f"gs://{BUCKET}/cells.csv"]}}}
started = datasets.create_dataset(parent=PARENT, dataset=table)
found["CreateDataset of a table: operation"] = operation(started)
rows = fields(started.result(timeout=60))
found["CreateDataset of a table: fields of the response"] = sorted(rows)
kept = fields(datasets.get_dataset(name=rows["name"]))
found["dataset of a table: metadata"] = list(kept["metadata"]) + list(
    kept["metadata"]["inputConfig"]
)
SYSTEM = "aiplatform.googleapis.com/dataset_metadata_schema"
found["dataset of a table: label"] = kept["labels"][SYSTEM]
started = datasets.create_dataset(
    parent=PARENT,
    dataset={
        "display_name": "colours",
        "metadata_schema_uri": f"{SCHEMA}/dataset/metadata/image_1.0.0.yaml",
    },
)
found["CreateDataset of images: operation"] = operation(started)
images = started.result(timeout=60).name
kept = fields(datasets.get_dataset(name=images))
found["dataset of images: label"] = kept["labels"][SYSTEM]
found["dataset of images: dataItemSchemaUri"] = kept["metadata"]["dataItemSchemaUri"]
importing = {
    "gcs_source": {"uris": [f"gs://{BUCKET}/manifest.csv"]},
    "import_schema_uri": f"{SCHEMA}/dataset/ioformat/"
    "image_classification_single_label_io_format_1.0.0.yaml",
}
started = datasets.import_data(name=images, import_configs=[importing])
found["ImportData of images: operation"] = operation(started)
found["ImportData: response"] = response(started)


def train(name: str, dataset: str, task: str, inputs: Any) -> Any:
    """The pipeline with its model; observes its creation."""
    created = pipelines.create_training_pipeline(
        parent=PARENT,
        training_pipeline={
            "display_name": name,
            "training_task_definition": task,
            "training_task_inputs": inputs,
            "input_data_config": {"dataset_id": dataset.rpartition("/")[2]},
            "model_to_upload": {"display_name": name},
        },
    )
    found[f"{name}: state of CreateTrainingPipeline"] = created.state.name
    found[f"{name}: fields of CreateTrainingPipeline"] = sorted(fields(created))
    found[f"{name}: trainingTaskInputs"] = fields(created)["trainingTaskInputs"]
    done, answers = ended(pipelines.get_training_pipeline, created)
    found[f"{name}: states"] = states(answers)
    if done.error.message:
        raise RuntimeError(done.error.message)
    return done.model_to_upload.name


def inputs(target: str, kind: str) -> dict[str, Any]:
    """Return a client's inputs, with defaults."""
    return {
        "target_column": target,
        "prediction_type": kind,
        "train_budget_milli_node_hours": 1000,
        "disable_early_stopping": False,
        "transformations": [
            {"numeric": {"column_name": "size"}},
            {"auto": {"column_name": "shape"}},
        ],
    }


regression = train("regression", rows["name"], TASK, inputs("weight", "regression"))
classes = train("classification", rows["name"], TASK, inputs("label", "classification"))
pictures = train(
    "images",
    images,
    IMAGE_TASK,
    {"model_type": "CLOUD", "budget_milli_node_hours": 8000, "multi_label": False},
)

for name, model in (("regression", regression), ("images", pictures)):
    (evaluation,) = models.list_model_evaluations(parent=model)
    shown = fields(evaluation)
    found[f"{name}: name of the evaluation"] = shape(shown["name"])
    found[f"{name}: metricsSchemaUri"] = shown["metricsSchemaUri"]
    found[f"{name}: metrics"] = sorted(shown["metrics"])
    found[f"{name}: sliceDimensions"] = shown.get("sliceDimensions", [])
entries = shown["metrics"]["confidenceMetrics"]
found["images: thresholds"] = [entry.get("confidenceThreshold", "none") for entry in entries]
found["images: fields of confidenceMetrics"] = sorted({name for entry in entries for name in entry})
matrix = shown["metrics"]["confusionMatrix"]
found["images: confusionMatrix"] = {
    "fields": sorted(matrix),
    "annotationSpecs": sorted(matrix["annotationSpecs"][0]),
    "rows": len(matrix["rows"]),
}


def predict(model: str, source: Any, destination: Any, **more: Any) -> Any:
    """The first answer and the last."""
    created = jobs.create_batch_prediction_job(
        parent=PARENT,
        batch_prediction_job={
            "display_name": "observed",
            "model": model,
            "input_config": source,
            "output_config": destination,
            **more,
        },
    )
    return created, ended(jobs.get_batch_prediction_job, created)[0]


def written(done: Any) -> dict[str, str]:
    prefix = done.output_info.gcs_output_directory.split("/", 3)[3]
    blobs = storage.Client(PROJECT).list_blobs(BUCKET, prefix=prefix)
    return {blob.name.rpartition("/")[2]: blob.download_as_text() for blob in blobs}


def folder(done: Any) -> str:
    uri = done.output_info.gcs_output_directory.replace(f"gs://{BUCKET}/out", "PREFIX")
    utc = done.create_time.strftime("%Y-%m-%dT%H:%M:%S")
    return re.sub(rf"{utc}\.\d{{6}}Z$", "<time in UTC>", uri)


OUT = {"gcs_destination": {"output_uri_prefix": f"gs://{BUCKET}/out"}}
CSV = {"instances_format": "csv", "gcs_source": {"uris": [f"gs://{BUCKET}/cells.csv"]}}
machines = {"dedicated_resources": {"machine_spec": MACHINE, "starting_replica_count": 1}}
created, done = predict(regression, CSV, {"predictions_format": "csv", **OUT}, **machines)
found["tables: state of CreateBatchPredictionJob"] = created.state.name
found["tables: dedicatedResources that were sent"] = "dedicatedResources" in fields(created)
found["tables: gcsOutputDirectory"] = folder(done)
files = written(done)
found["tables: files"] = sorted(files)
header, *lines = files["predictions_1.csv"].splitlines()
found["tables: columns of the CSV"] = header.split(",")
sizes = [float(line.split(",")[2]) for line in lines]
given = [float(line.split(",")[0]) for line in cells[1:]]
found["tables: rows of the CSV"] = {
    "all": sorted(sizes) == sorted(given),
    "in the order of the input": sizes == given,
}
to_table = {"output_uri": f"bq://{PROJECT}.{BUCKET}"}
to_table = {"predictions_format": "bigquery", "bigquery_destination": to_table}
created, done = predict(classes, CSV, to_table)
found["tables to BigQuery: states"] = [created.state.name, done.state.name]
found["tables: generate_explanation"] = accepted(
    lambda: predict(classes, CSV, to_table, generate_explanation=True)
)
source = {"instances_format": "jsonl", "gcs_source": {"uris": [f"gs://{BUCKET}/images.jsonl"]}}
created, done = predict(
    pictures,
    source,
    {"predictions_format": "jsonl", **OUT},
    model_parameters={"confidenceThreshold": 0, "maxPredictions": 2},
    **machines,
)
shown = fields(created)
found["images: dedicatedResources that were sent"] = "dedicatedResources" in shown
found["images: completionStats of a pending job"] = shown["completionStats"]
found["images: gcsOutputDirectory"] = folder(done)
files = written(done)
found["images: files"] = sorted(files)
line = json.loads(files["predictions_00001.jsonl"].splitlines()[0])
found["images: line"] = {name: sorted(line[name]) for name in sorted(line)}


def online(model: str, resources: dict[str, Any], instance: dict[str, Any]) -> list[str]:
    """Fields of an online prediction."""
    endpoint = endpoints.create_endpoint(parent=PARENT, endpoint={"display_name": "observed"})
    name = endpoint.result(timeout=60).name
    deployed = {"model": model, **resources}
    endpoints.deploy_model(endpoint=name, deployed_model=deployed, traffic_split={"0": 100}).result(
        timeout=120
    )
    value = struct_pb2.Value()
    value.struct_value.update(instance)
    return sorted(fields(predictions.predict(endpoint=name, instances=[value]))["predictions"][0])


replicas = {"min_replica_count": 1, "max_replica_count": 1}
dedicated = {"dedicated_resources": {"machine_spec": MACHINE, **replicas}}
row = {"size": "7.5", "shape": "a"}
found["regression: Predict"] = online(regression, dedicated, row)
found["classification: Predict"] = online(classes, dedicated, row)
content = base64.b64encode(bucket.blob("0.png").download_as_bytes()).decode()
found["images: Predict with automaticResources"] = online(
    pictures, {"automatic_resources": replicas}, {"content": content}
)
found["DeleteDataset: operation"] = operation(datasets.delete_dataset(name=rows["name"]))
show(found)
