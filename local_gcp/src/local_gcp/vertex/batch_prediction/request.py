"""Checks the request for a BatchPredictionJob, configures its program and names its results.

The rules are those of the field comments of BatchPredictionJob; the names of tables and objects are
those of https://cloud.google.com/vertex-ai/docs/tabular-data/classification-regression/get-batch-predictions
"""

from __future__ import annotations

import datetime
import random
import re
import zoneinfo
from pathlib import Path
from typing import Any

from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format

from local_gcp import names
from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.jobs.images import ImageError, find_image
from local_gcp.project import PROJECT_NUMBER, project_id
from local_gcp.vertex import gcs, tables, validation
from local_gcp.vertex.registry import CONTAINER_INPUTS, CONTAINER_OUTPUTS
from local_gcp.wire import not_emulated

FIELD = "batch_prediction_job"
_CONTAINER_INPUTS_NOT_EMULATED = ("tf-record", "tf-record-gzip")
BATCH_SIZE = 64
_LARGEST_BATCH = 4096
_NOT_EMULATED = {
    "generate_explanation": "explanations",
    "explanation_spec": "explanations",
    "unmanaged_container_model": "unmanaged container models; upload the model",
}


def model_kind(model: api.Model) -> str:
    """tabular, image or container."""
    if model.model_source_info.source_type != api.ModelSourceInfo.ModelSourceType.AUTOML:
        return "container"
    return "image" if "image" in model.metadata_schema_uri else "tabular"


def check_message(sent: api.BatchPredictionJob, region: str) -> None:
    """Refuse errors that do not depend on the model, before the model is read."""
    validation.check_resource(sent, FIELD, region)
    for name in ("model", "input_config", "output_config"):
        if not getattr(sent, name):
            raise invalid_field(f"{FIELD}.{name}", REQUIRED)


def check(sent: api.BatchPredictionJob, model: api.Model) -> None:
    """Refuse a job that cannot run with its model: INVALID_ARGUMENT or UNIMPLEMENTED."""
    for name, what in _NOT_EMULATED.items():
        if name in sent and getattr(sent, name):
            raise not_emulated(f"{FIELD}.{name} ({what})")
    if model.model_source_info.source_type == api.ModelSourceInfo.ModelSourceType.BQML:
        raise not_emulated(f"{FIELD}.model of BigQuery ML", "Use ML.PREDICT in BigQuery.")
    kind = model_kind(model)
    if kind == "container" and sent.input_config.instances_format in _CONTAINER_INPUTS_NOT_EMULATED:
        raise not_emulated(f"the input format {sent.input_config.instances_format}")
    inputs = list(model.supported_input_storage_formats) or CONTAINER_INPUTS
    outputs = list(model.supported_output_storage_formats) or CONTAINER_OUTPUTS
    _check_format(sent.input_config, "instances_format", "source", "input_config", inputs)
    _check_format(sent.output_config, "predictions_format", "destination", "output_config", outputs)
    if "gcs_destination" in sent.output_config:
        gcs.check_folder(
            sent.output_config.gcs_destination.output_uri_prefix,
            f"{FIELD}.output_config.gcs_destination.output_uri_prefix",
        )
    elif "bigquery_destination" in sent.output_config:
        uri = sent.output_config.bigquery_destination.output_uri
        field = f"{FIELD}.output_config.bigquery_destination.output_uri"
        _, table = tables.destination(uri, field)
        if table and kind != "container":
            raise not_emulated(
                f"a table as {field} for AutoML models", "Give the dataset: bq://PROJECT.DATASET."
            )
    if "bigquery_source" in sent.input_config:
        field = f"{FIELD}.input_config.bigquery_source.input_uri"
        tables.table_ref(sent.input_config.bigquery_source.input_uri, field)
    _check_instances(sent, kind)
    if kind == "container":
        machine = sent.dedicated_resources.machine_spec
        field = f"{FIELD}.dedicated_resources.machine_spec"
        validation.check_machine(machine, field, serving=True)
        container(model)


def program(
    sent: api.BatchPredictionJob, model: api.Model, buckets: Path, models: Path, work: Path
) -> dict[str, Any]:
    """The config of predict.py. `work`: where the server has put instances.parquet, if it had to;
    `models`: folder of the models that were trained here.
    """
    kind = model_kind(model)
    if kind == "container":
        which = container(model) | {"account": sent.service_account}
    else:
        which = {"kind": kind, "folder": str(models / names.last(model.training_pipeline))}
    if "bigquery_source" in sent.input_config:
        files = [work / INSTANCES]
    else:
        uris, field = sent.input_config.gcs_source.uris, f"{FIELD}.input_config.gcs_source.uris"
        files = gcs.matching(buckets, uris, field)
    folder = None
    if sent.output_info.gcs_output_directory:
        folder = str(gcs.local_path(buckets, sent.output_info.gcs_output_directory))
    shape = sent.instance_config
    return {
        "model": which,
        "input": {"format": sent.input_config.instances_format, "files": [str(f) for f in files]},
        "instance": {
            "type": shape.instance_type or None,
            "key": shape.key_field or None,
            "included": list(shape.included_fields),
            "excluded": list(shape.excluded_fields),
        },
        "parameters": parameters(sent) if kind == "container" else _camel(parameters(sent)),
        "batch_size": sent.manual_batch_tuning_parameters.batch_size or BATCH_SIZE,
        "output": {"format": sent.output_config.predictions_format, "folder": folder},
        "buckets": str(buckets),
    }


INSTANCES = "instances.parquet"


def parameters(sent: api.BatchPredictionJob) -> Any:
    """model_parameters as plain values, None if there are none."""
    return json_format.MessageToDict(type(sent).pb(sent)).get("modelParameters")


def container(model: api.Model) -> dict[str, Any]:
    """Return how the model's container is run; INVALID_ARGUMENT if its image is unknown."""
    spec, field = model.container_spec, "model.container_spec"
    try:
        image = find_image(spec.image_uri)
    except ImageError as error:
        raise invalid_field(f"{field}.image_uri", str(error)) from None
    argv = image.command(spec.command, spec.args)
    if not argv:
        raise invalid_field(
            f"{field}.command",
            f"images.yaml has no entrypoint for {spec.image_uri}, and the model has none.",
        )
    # Vertex AI's defaults.
    route = f"/v1/endpoints/{names.new_id()}/deployedModels/{names.new_id()}"
    health, predict = spec.health_route or route, spec.predict_route or f"{route}:predict"
    service = {
        "AIP_MODE": "PREDICTION",
        "AIP_FRAMEWORK": "CUSTOM_CONTAINER",
        "AIP_PROJECT_NUMBER": str(PROJECT_NUMBER),
        "AIP_STORAGE_URI": model.artifact_uri,
        "AIP_HEALTH_ROUTE": health,
        "AIP_PREDICT_ROUTE": predict,
    }
    return {
        "kind": "container",
        "argv": argv,
        "image": {**image.environment(), **service},
        "env": {variable.name: variable.value for variable in spec.env},
        "cwd": image.workdir,
        "health": health,
        "predict": predict,
    }


def output_info(
    sent: api.BatchPredictionJob, model: api.Model, now: datetime.datetime
) -> api.BatchPredictionJob.OutputInfo:
    """Return the place of the results of a job that is created `now`."""
    config = sent.output_config
    if "gcs_destination" in config:
        prefix = gcs.check_folder(config.gcs_destination.output_uri_prefix, FIELD)
        stamp = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        if model_kind(model) == "container":
            stamp = _stamp(now.astimezone(_CALIFORNIA))
        name = model.display_name.replace("/", "_")
        return api.BatchPredictionJob.OutputInfo(
            gcs_output_directory=f"{prefix}prediction-{name}-{stamp}"
        )
    stamp = _stamp(now)
    dataset, table = tables.destination(config.bigquery_destination.output_uri, FIELD)
    if dataset is None:
        name = re.sub(r"[^A-Za-z0-9_]", "_", model.display_name)
        dataset = f"prediction_{name}_{stamp}"
    return api.BatchPredictionJob.OutputInfo(
        bigquery_output_dataset=f"bq://{project_id()}.{dataset}",
        bigquery_output_table=table or f"predictions_{stamp}_{random.randrange(1000):03}",
    )


_CALIFORNIA = zoneinfo.ZoneInfo("America/Los_Angeles")
"""Whose time the folder of a container's predictions has in its name, in spite of its Z."""


def _stamp(now: datetime.datetime) -> str:
    return now.strftime("%Y_%m_%dT%H_%M_%S_") + f"{now.microsecond // 1000:03}Z"


def errors_table(info: api.BatchPredictionJob.OutputInfo, kind: str) -> str:
    """Name of the table with the instances that failed. `kind`: of the model."""
    name = info.bigquery_output_table
    if kind == "container":
        return f"{name}_errors"
    return f"errors_{name.removeprefix('predictions_')}"


def _check_format(config: Any, name: str, oneof: str, field: str, known: Any) -> None:
    form = getattr(config, name)
    if form not in known:
        raise invalid_field(
            f"{FIELD}.{field}.{name}", f"{form!r} is not one of the model's: {', '.join(known)}."
        )
    given = type(config).pb(config).WhichOneof(oneof)
    wanted = f"{'bigquery' if form == 'bigquery' else 'gcs'}_{oneof}"
    if given != wanted:
        raise invalid_field(
            f"{FIELD}.{field}.{wanted}", f"{REQUIRED} The format {form!r} needs it, not {given}."
        )


def _check_instances(sent: api.BatchPredictionJob, kind: str) -> None:
    shape, field = sent.instance_config, f"{FIELD}.instance_config"
    if shape.instance_type not in ("", "object", "array"):
        raise invalid_field(f"{field}.instance_type", "Expected object or array.")
    if shape.key_field and sent.output_config.predictions_format == "bigquery":
        raise invalid_field(f"{field}.key_field", "It is not supported with BigQuery output.")
    if shape.included_fields and shape.excluded_fields:
        raise invalid_field(f"{field}.excluded_fields", "included_fields are set already.")
    if "instance_config" in sent and shape:
        if kind != "container":
            raise not_emulated(f"{field} for AutoML models")
        if sent.input_config.instances_format not in ("jsonl", "bigquery"):
            raise invalid_field(field, "Only the formats jsonl and bigquery can have it.")
    size = sent.manual_batch_tuning_parameters.batch_size
    if not 0 <= size <= _LARGEST_BATCH:
        raise invalid_field(
            f"{FIELD}.manual_batch_tuning_parameters.batch_size",
            f"{size} is not from 1 to {_LARGEST_BATCH}.",
        )
    known = {"image": {"confidenceThreshold", "maxPredictions"}, "tabular": set()}
    given = parameters(sent)
    if kind in known and set(_camel(given)) - known[kind]:
        raise invalid_field(f"{FIELD}.model_parameters", f"The model has no parameters {given}.")


def _camel(given: Any) -> dict[str, Any]:
    given = given if isinstance(given, dict) else {}
    return {re.sub(r"_([a-z])", lambda m: m[1].upper(), name): v for name, v in given.items()}
