"""AutoML's input from an image dataset (the images that the export accepted, each with its split),
and the jobs that use it.

baselines/automl/import.csv    ML_USE,gs://image,label: a manifest that names every split
baselines/automl/test.jsonl    {"content": "gs://image", "mimeType": "image/png"} of the test split
"""

import csv
import io
import json
import mimetypes
from collections.abc import Iterable
from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowSkipException

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import bigquery_source, image_manifest, plans, storage
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.split import TimeSplit
from trellis.workflow.stages.automl_tables import common, display_name, milli_node_hours

_SCHEMA = "gs://google-cloud-aiplatform/schema"
_ML_USE = "labels.aiplatform.googleapis.com/ml_use"


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task that writes the two files."""

    # The export is skipped if its dataset exists.
    @airflow_task(task_id="images", trigger_rule="none_failed")
    def images(run_id=None):
        plan = plans.load(experiment, platform, run_id)
        if plan.experiment.baselines.automl is None:
            raise AirflowSkipException("This run does not need it.")
        address = platform.uri(plan.experiment.image_source.images)
        manifest = storage.blob(platform, address)
        rejected = storage.blob(platform, f"{plan.dataset.uri}rejected.jsonl")
        refused = rejected.download_as_text().splitlines() if rejected.exists() else []
        grouped = image_manifest.last_field(plan.experiment.source.split) is not None
        lines = image_manifest.lines_of(address, manifest.download_as_bytes())
        found = usable(lines, {json.loads(line)["uri"] for line in refused}, grouped)
        rows = with_splits(found, plan, platform)
        for uri, content in files(rows, plan).items():
            storage.blob(platform, uri).upload_from_string(content)
        print(f"{len(rows)} images for AutoML in {plan.run.baseline('automl')}import.csv")

    return images()


def usable(
    lines: Iterable[image_manifest.Line], rejected: set[str], grouped: bool = False
) -> list[tuple[str, str, str, str]]:
    """(ML_USE or "", address, label, what decides the split) of the lines that were not rejected.

    The key decides, or, if the lines are `grouped`, the field after the label.
    """
    found: dict[str, tuple[str, str, str, str]] = {}
    named = [(line, line.place) for line in lines if line.place is not None]
    keys = image_manifest.keys({line.fields[place] for line, place in named})
    for line, place in named:
        fields = line.fields
        address, after = fields[place], fields[place + 1 :]
        if address in rejected:
            continue
        hashed = after.pop(1) if grouped and len(after) > 1 else keys[address]
        labels = [label for label in after if label]
        if len(labels) == 1:
            found.setdefault(address, (line.ml_use or "", address, labels[0], hashed))
    return list(found.values())


def with_splits(
    rows: list[tuple[str, str, str, str]], plan: Plan, platform: Platform
) -> list[tuple[str, str, str]]:
    """(ML_USE, address, label) of the rows: ML_USE from the last part, what is hashed or the day,
    if the manifest has none.
    """
    missing = {hashed for ml_use, _, _, hashed in rows if not ml_use}
    split = plan.experiment.source.split
    if isinstance(split, TimeSplit):
        splits = {day: image_manifest.ml_use_of_day(day, split) or "" for day in missing}
    else:
        splits = bigquery_source.splits_of(platform, split, sorted(missing))
    return [(use or splits[hashed], uri, label) for use, uri, label, hashed in rows]


def files(rows: list[tuple[str, str, str]], plan: Plan) -> dict[str, str]:
    """The two files by their addresses."""
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(rows)
    test = [
        json.dumps({"content": uri, "mimeType": mimetypes.guess_type(uri)[0] or "image/jpeg"})
        for ml_use, uri, _ in rows
        if ml_use == "test"
    ]
    folder = plan.run.baseline("automl")
    return {
        f"{folder}import.csv": table.getvalue(),
        f"{folder}test.jsonl": "".join(f"{line}\n" for line in test),
    }


def dataset(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The Dataset, still empty."""
    return {
        "display_name": display_name(plan.experiment),
        "metadata_schema_uri": f"{_SCHEMA}/dataset/metadata/image_1.0.0.yaml",
        **common(plan, platform),
    }


def imports(plan: Plan, platform: Platform) -> list[dict[str, Any]]:
    """The ImportDataConfigs that fill it."""
    return [
        {
            "gcs_source": {"uris": [f"{plan.run.baseline('automl')}import.csv"]},
            "import_schema_uri": f"{_SCHEMA}/dataset/ioformat/"
            "image_classification_single_label_io_format_1.0.0.yaml",
        }
    ]


def pipeline(plan: Plan, platform: Platform, dataset: str) -> dict[str, Any]:
    """The TrainingPipeline. dataset: resource name of what `dataset` made."""
    name = display_name(plan.experiment)
    filters = {
        f"{split}_filter": f"{_ML_USE}={split}" for split in ("training", "validation", "test")
    }
    return {
        "display_name": name,
        "training_task_definition": f"{_SCHEMA}/trainingjob/definition/"
        "automl_image_classification_1.0.0.yaml",
        "training_task_inputs": {
            "modelType": "CLOUD",
            "budgetMilliNodeHours": milli_node_hours(plan.experiment),
        },
        "input_data_config": {
            "filter_split": filters,
            "annotation_schema_uri": f"{_SCHEMA}/dataset/annotation/"
            "image_classification_1.0.0.yaml",
            "dataset_id": dataset.rpartition("/")[2],
        },
        "model_to_upload": {"display_name": name},
        **common(plan, platform),
    }


def prediction(plan: Plan, platform: Platform, model: str) -> dict[str, Any]:
    """The BatchPredictionJob of the test images. model: resource name of what `pipeline` made."""
    folder = plan.run.baseline("automl")
    return {
        "display_name": display_name(plan.experiment),
        "model": model,
        "input_config": {
            "instances_format": "jsonl",
            "gcs_source": {"uris": [f"{folder}test.jsonl"]},
        },
        "output_config": {
            "predictions_format": "jsonl",
            "gcs_destination": {"output_uri_prefix": f"{folder}raw"},
        },
        # The probabilities of all classes, not only of the most likely one.
        "model_parameters": {"confidenceThreshold": 0.0, "maxPredictions": 1000},
        **common(plan, platform),
    }
