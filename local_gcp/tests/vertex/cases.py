"""Data for the tests of AutoML and of batch prediction, and pipelines over it."""

import csv
import random

from PIL import Image

from local_gcp.vertex.automl.task import IMAGE_TASK, TABULAR_TASK
from local_gcp.vertex.datasets.dataset_service import IMAGE, SINGLE_LABEL, TABULAR

SETS = ("training", "training", "validation", "test")


def write_table(folder, rows=120):
    """FOLDER/cells.csv: size decides about `label`, and about `weight` too."""
    dice = random.Random(1)
    folder.mkdir(exist_ok=True)
    with (folder / "cells.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "size", "shape", "label", "weight", "ml_use"])
        for n in range(rows):
            size = dice.uniform(0, 10)
            label = "malignant" if size + dice.gauss(0, 0.5) > 5 else "benign"
            weight = 2 * size + dice.gauss(0, 0.1)
            writer.writerow([f"k{n}", size, dice.choice("ab"), label, weight, SETS[n % 4]])


def write_images(folder, count=60):
    """FOLDER/N.png, red or blue, and FOLDER/manifest.csv."""
    folder.mkdir(exist_ok=True)
    with (folder / "manifest.csv").open("w", newline="") as file:
        for n in range(count):
            colour = (255, n, 0) if n % 2 else (0, n, 255)
            Image.new("RGB", (12, 12), colour).save(folder / f"{n}.png")
            name = SETS[n // 2 % 4]
            csv.writer(file).writerow(
                [name, f"gs://{folder.name}/{n}.png", "red" if n % 2 else "blue"]
            )


def create_dataset(vertex, bucket="bucket", images=False, source=None):
    """Name of a dataset over what was written."""
    dataset = {"display_name": "cells", "metadata_schema_uri": IMAGE if images else TABULAR}
    if not images:
        source = source or {"gcsSource": {"uri": [f"gs://{bucket}/cells.csv"]}}
        dataset["metadata"] = {"inputConfig": source}
    request = {"parent": vertex.parent, "dataset": dataset}
    name = vertex.datasets.create_dataset(request=request).result(timeout=60).name
    if images:
        config = {"gcs_source": {"uris": [f"gs://{bucket}/manifest.csv"]}}
        config["import_schema_uri"] = SINGLE_LABEL
        vertex.datasets.import_data(name=name, import_configs=[config]).result(timeout=60)
    return name


def tabular_pipeline(dataset, target="label", kind="classification", columns=("size", "shape")):
    """A training pipeline for `target`."""
    return {
        "display_name": "cells",
        "training_task_definition": TABULAR_TASK,
        "training_task_inputs": {
            "targetColumn": target,
            "predictionType": kind,
            "trainBudgetMilliNodeHours": 1000,
            "transformations": [{"auto": {"column_name": name}} for name in columns],
        },
        "input_data_config": {
            "dataset_id": dataset.rpartition("/")[2],
            "predefined_split": {"key": "ml_use"},
        },
        "model_to_upload": {"display_name": "cells", "labels": {"team": "vision"}},
        "labels": {"team": "vision"},
    }


def image_pipeline(dataset):
    """Likewise, for images."""
    use = "labels.aiplatform.googleapis.com/ml_use"
    return {
        "display_name": "colours",
        "training_task_definition": IMAGE_TASK,
        "training_task_inputs": {"modelType": "CLOUD", "budgetMilliNodeHours": 8000},
        "input_data_config": {
            "dataset_id": dataset.rpartition("/")[2],
            "filter_split": {
                f"{n}_filter": f"{use}={n}" for n in ("training", "validation", "test")
            },
        },
        "model_to_upload": {"display_name": "colours"},
    }


def start(vertex, pipeline):
    """Create a pipeline; its name."""
    return vertex.pipelines.create_training_pipeline(
        parent=vertex.parent, training_pipeline=pipeline
    ).name


def finish(vertex, until, name):
    """The pipeline when it is over."""
    until(lambda: vertex.pipelines.get_training_pipeline(name=name).end_time, 120)
    return vertex.pipelines.get_training_pipeline(name=name)


def train(vertex, until, pipeline):
    """Train, and return the model."""
    done = finish(vertex, until, start(vertex, pipeline))
    assert done.state.name == "PIPELINE_STATE_SUCCEEDED", done.error.message
    return done, vertex.models.get_model(name=done.model_to_upload.name)
