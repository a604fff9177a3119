"""What AutoML sees of an image dataset: the images that the export took, each with its split.

baselines/automl/import.csv    ML_USE,gs://image,label: a manifest that names every split
baselines/automl/test.jsonl    {"content": "gs://image", "mimeType": "image/png"} of the test split
"""

import csv
import io
import json
import mimetypes
from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowSkipException

from research import jobs, layout, sql
from research.experiment import Experiment
from research.plan import Plan, from_json
from research.platform import Platform

_SCHEMA = "gs://google-cloud-aiplatform/schema"
_ML_USE = "labels.aiplatform.googleapis.com/ml_use"
# A query's parameters may have 10 MB: https://cloud.google.com/bigquery/quotas#query_jobs
_KEYS_AT_ONCE = 5000


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task that writes the two files."""

    # An export that found its dataset there is skipped.
    @airflow_task(task_id="images", trigger_rule="none_failed")
    def images(run_id):
        from research import storage

        folder = layout.run_folder(run_id, experiment.generation)
        run = layout.Run(platform.bucket, experiment.name, folder)
        plan = from_json(storage.read_json(platform, run.plan), run)
        if plan.experiment.baselines.automl is None:
            raise AirflowSkipException("This run does without it.")
        manifest = storage.blob(platform, platform.uri(plan.experiment.source.images))
        rejected = storage.blob(platform, f"{plan.dataset}rejected.jsonl")
        lines = rejected.download_as_text().splitlines() if rejected.exists() else []
        text = manifest.download_as_bytes().decode("utf-8-sig")
        rows = usable(text, {json.loads(line)["uri"] for line in lines})
        rows = with_splits(rows, plan, platform)
        for address, content in files(rows, plan).items():
            storage.blob(platform, address).upload_from_string(content)
        print(f"{len(rows)} images for AutoML in {plan.run.baseline('automl')}import.csv")

    return images()


def usable(manifest: str, rejected: set[str]) -> list[tuple[str, str, str]]:
    """(ML_USE or "", address, label) of the manifest's lines, without those that were rejected."""
    found = {}
    for record in csv.reader(io.StringIO(manifest), skipinitialspace=True):
        fields = [value.strip() for value in record]
        place = next((n for n, v in enumerate(fields[:2]) if v.startswith("gs://")), None)
        if place is None or fields[place] in rejected:
            continue
        labels = [label for label in fields[place + 1 :] if label]
        if len(labels) == 1:
            ml_use = fields[0].lower() if place else ""
            found.setdefault(fields[place], (ml_use, fields[place], labels[0]))
    return list(found.values())


def with_splits(
    rows: list[tuple[str, str, str]], plan: Plan, platform: Platform
) -> list[tuple[str, str, str]]:
    """The same rows, each with its ML_USE: by its key where the manifest names none."""
    from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
    from google.cloud.bigquery import ArrayQueryParameter, QueryJobConfig

    missing = {address: address.split("/", 3)[3] for ml_use, address, _ in rows if not ml_use}
    splits: dict[str, str] = {}
    hook = BigQueryHook(gcp_conn_id=platform.connection, use_legacy_sql=False)
    client = hook.get_client(project_id=platform.project, location=platform.location)
    statement = sql.render("split", split=plan.experiment.source.split)
    ordered = sorted(missing.values())
    for start in range(0, len(ordered), _KEYS_AT_ONCE):
        keys = ordered[start : start + _KEYS_AT_ONCE]
        parameter = ArrayQueryParameter("keys", "STRING", keys)
        config = QueryJobConfig(query_parameters=[parameter])
        answer = client.query(statement, job_config=config).result()
        splits |= {row["key"]: row["ml_use"] for row in answer}
    return [(use or splits[missing[uri]], uri, label) for use, uri, label in rows]


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


def jobs_of(plan: Plan, platform: Platform, milli_node_hours: int) -> dict[str, Any]:
    """The messages of the tasks: {"dataset", "imports", "pipeline", "prediction"}."""
    name = f"{plan.experiment.name} AutoML"
    folder = plan.run.baseline("automl")
    common = {"labels": jobs.labels(plan, platform), **jobs.encryption(platform)}
    filters = {
        f"{split}_filter": f"{_ML_USE}={split}" for split in ("training", "validation", "test")
    }
    return {
        "dataset": {
            "display_name": name,
            "metadata_schema_uri": f"{_SCHEMA}/dataset/metadata/image_1.0.0.yaml",
            **common,
        },
        "imports": [
            {
                "gcs_source": {"uris": [f"{folder}import.csv"]},
                "import_schema_uri": f"{_SCHEMA}/dataset/ioformat/"
                "image_classification_single_label_io_format_1.0.0.yaml",
            }
        ],
        "pipeline": {
            "display_name": name,
            "training_task_definition": f"{_SCHEMA}/trainingjob/definition/"
            "automl_image_classification_1.0.0.yaml",
            "training_task_inputs": {
                "modelType": "CLOUD",
                "budgetMilliNodeHours": milli_node_hours,
            },
            "input_data_config": {
                "filter_split": filters,
                "annotation_schema_uri": f"{_SCHEMA}/dataset/annotation/"
                "image_classification_1.0.0.yaml",
            },
            "model_to_upload": {"display_name": name},
            **common,
        },
        "prediction": {
            "display_name": name,
            "input_config": {
                "instances_format": "jsonl",
                "gcs_source": {"uris": [f"{folder}test.jsonl"]},
            },
            "output_config": {
                "predictions_format": "jsonl",
                "gcs_destination": {"output_uri_prefix": f"{folder}raw"},
            },
            # All classes with their probabilities, not the first only.
            "model_parameters": {"confidenceThreshold": 0.0, "maxPredictions": 1000},
            **common,
        },
    }
