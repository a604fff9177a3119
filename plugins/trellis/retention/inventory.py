"""What runs have left in Cloud Storage, BigQuery and Vertex AI, and how each is removed."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, cast

from google.api_core.exceptions import NotFound

from trellis.bigquery.submission import JOB_TIMEOUT_MS
from trellis.google_api import GoogleApi
from trellis.identity import EXPERIMENT_LABEL, label_value
from trellis.results.index import client_of, folders, load_index
from trellis.retention.needs import ModelVersion, Needs
from trellis.vertex.calls import CALL_TIMEOUT_SECONDS, REPEATABLE
from trellis.workflow.contracts.record import RunRecord
from trellis.workflow.spec import bqml
from trellis.workflow.spec.platform import Platform

SNAPSHOT = "snapshot_"
_DATASET_TABLES = (SNAPSHOT + "{}", "automl_{}", "automl_{}_test")
"""Tables and views of a dataset, by its fingerprint: of the stages snapshot and automl."""

PREDICTIONS = "predictions_"
"""What the names of tables of predictions begin with (workflow.contracts.prediction_layout)."""
_BATCH_PREDICTIONS = "labels.airflow-task=predict AND labels.experiment:*"

MANIFEST = "manifest_"
LOADED = (MANIFEST, "files_")
"""What the names of tables begin with that hold a source's files until they expire."""

_TEMPORARY = "dataflow/"


@dataclass(frozen=True)
class Item:
    """Something that can be removed. name: its address. why: nobody needs it. bytes: its size, 0
    if the service does not say. remove: raises google.api_core.exceptions.
    """

    name: str
    why: str
    remove: Callable[[], Any]
    bytes: int = 0


class NeededAgainError(Exception):
    """A run was planned meanwhile that uses it."""


class Services:
    """Clients of a group's project, with application-default credentials."""

    def __init__(self, group: Platform):
        from google.cloud import aiplatform_v1 as vertex
        from google.cloud import bigquery

        self.group = group
        self.parent = f"projects/{group.project}/locations/{group.region}"
        given: dict[str, Any] = {
            "credentials": GoogleApi().credentials,
            "client_options": {"api_endpoint": f"{group.region}-aiplatform.googleapis.com"},
        }
        self.storage = client_of(group)
        self.bigquery = bigquery.Client(
            project=group.project,
            location=group.location,
            default_query_job_config=bigquery.QueryJobConfig(job_timeout_ms=JOB_TIMEOUT_MS),
        )
        self.models = vertex.ModelServiceClient(**given)
        self.datasets = vertex.DatasetServiceClient(**given)
        self.pipelines = vertex.PipelineServiceClient(**given)
        self.jobs = vertex.JobServiceClient(**given)

    @cached_property
    def bigquery_models(self) -> list[str]:
        """Names of the models in the group's dataset."""
        place = f"{self.group.project}.{self.group.dataset}"
        listed = _found(lambda: list(self.bigquery.list_models(place))) or ()
        return [model.model_id for model in listed]

    def versions(self) -> list[ModelVersion]:
        """All versions of all experiments' models."""
        request = {"parent": self.parent, "filter": f"labels.{EXPERIMENT_LABEL}:*"}
        return [
            ModelVersion(
                f"{model.name.partition('@')[0]}@{version.version_id}",
                version.labels.get(EXPERIMENT_LABEL, model.labels[EXPERIMENT_LABEL]),
                _run_of(version.version_description),
            )
            for model in self.models.list_models(request=request, **REPEATABLE)
            for version in self.models.list_model_versions(
                name=model.name.partition("@")[0], **REPEATABLE
            )
        ]


def _run_of(description: str) -> str:
    try:
        return str(json.loads(description)["run"])
    except (ValueError, KeyError, TypeError):
        return ""


def removable(services: Services, needs: Needs, now: datetime) -> Iterator[Item]:
    """Everything that the group's `retention` no longer keeps."""
    retention = services.group.retention
    assert retention is not None
    for run in needs.expired:
        yield from of_run(services, run, f"{run.experiment}/{run.folder} has expired")
    yield from _datasets(services, needs, now - timedelta(days=retention.runs))
    yield from _predictions(services, now - timedelta(days=retention.predictions))
    yield from _temporary(services, now - timedelta(days=retention.temporary))


def of_run(services: Services, run: RunRecord, why: str) -> Iterator[Item]:
    """Files of a run, and what its baselines have made."""
    folder = run.uri.removeprefix(f"gs://{services.group.bucket}/")
    yield from folder_of(services, folder, why)
    yield from of_baselines(services, run, why)


def of_baselines(services: Services, run: RunRecord, why: str) -> Iterator[Item]:
    """Models that a run has in BigQuery ML, and what AutoML made for it."""
    types = "|".join(bqml.TYPES)
    own = re.compile(bqml.model_name(run.experiment, f"({types})", run.folder) + bqml.OF_FOLD)
    for model in filter(own.fullmatch, services.bigquery_models):
        name = services.group.own_table(model)
        delete = _bound(services.bigquery.delete_model, name, not_found_ok=True)
        yield Item(f"BigQuery ML model {name}", why, delete)
    yield from _automl(services, run, why)


def _automl(services: Services, run: RunRecord, why: str) -> Iterator[Item]:
    """Models, datasets and tables of predictions that AutoML's jobs of a run have left."""
    group = services.group
    dag = label_value(group.dag_id(run.experiment))
    label = f"labels.airflow-run={label_value(run.run_id)}"
    request = {"parent": services.parent, "filter": label}

    def own(found: Iterable[Any]) -> list[Any]:
        # Runs of several DAGs may have one id: that of their moment.
        return [each for each in found if each.labels.get("airflow-dag") == dag]

    for pipeline in own(services.pipelines.list_training_pipelines(request=request, **REPEATABLE)):
        name = pipeline.model_to_upload.name.partition("@")[0]
        if name and _found(_bound(services.models.get_model, name=name)) is not None:
            yield Item(f"AutoML model {name}", why, _bound(_delete_model, services.models, name))
    for dataset in own(services.datasets.list_datasets(request=request, **REPEATABLE)):
        delete = _bound(_delete_dataset, services.datasets, dataset.name)
        yield Item(f"Vertex AI dataset {dataset.name}", why, delete)
    for job in own(services.jobs.list_batch_prediction_jobs(request=request, **REPEATABLE)):
        output = job.output_info
        table = output.bigquery_output_table
        if table and output.bigquery_output_dataset == f"bq://{group.project}.{group.dataset}":
            yield from table_of(services, group.own_table(table), why)


def _datasets(services: Services, needs: Needs, before: datetime) -> Iterator[Item]:
    """Datasets that no kept run has trained on, and their tables in BigQuery."""
    group = services.group
    # Experiments may share a snapshot.
    needed = {fingerprint for _, fingerprint in needs.datasets}
    unneeded: set[str] = set()
    for experiment, fingerprint, folder in dataset_folders(services):
        if needs.has(experiment, fingerprint):
            needed.add(fingerprint)
        elif _newest(services, folder) < before:
            unneeded.add(fingerprint)
            for item in folder_of(services, folder, "no kept run has trained on it"):
                yield _unless_planned(services, needs, fingerprint, item)
    # A snapshot whose dataset was refused, or is gone, has no folder.
    place = f"{group.project}.{group.dataset}"
    for table in _found(lambda: list(services.bigquery.list_tables(place))) or ():
        fingerprint = table.table_id.removeprefix(SNAPSHOT)
        old = table.table_id.startswith(SNAPSHOT) and table.created < before
        if old and fingerprint not in needed:
            unneeded.add(fingerprint)
    for fingerprint in sorted(unneeded - needed):
        for item in tables_of(services, fingerprint, "no kept run has trained on it"):
            yield _unless_planned(services, needs, fingerprint, item)


def _unless_planned(services: Services, needs: Needs, fingerprint: str, item: Item) -> Item:
    """The item, which stays if a run on this dataset was planned since it was listed."""
    known = {run.uri for run in needs.expired}

    def remove() -> None:
        runs = load_index(services.storage, services.group.bucket).runs
        if any(run.dataset == fingerprint and run.uri not in known for run in runs):
            raise NeededAgainError(f"{item.name} is needed by a run that was just planned")
        item.remove()

    return replace(item, remove=remove)


def tables_of(services: Services, fingerprint: str, why: str) -> Iterator[Item]:
    """The snapshot of a dataset, and its views."""
    for name in _DATASET_TABLES:
        yield from table_of(services, services.group.own_table(name.format(fingerprint)), why)


def dataset_folders(services: Services) -> Iterator[tuple[str, str, str]]:
    """(experiment, fingerprint, folder in the bucket) of each dataset."""
    for experiment in folders(services.storage, services.group.bucket):
        if experiment.startswith("_"):
            continue
        for folder in folders(services.storage, services.group.bucket, f"{experiment}datasets/"):
            yield experiment.rstrip("/"), folder.rstrip("/").rpartition("/")[2], folder


def _predictions(services: Services, before: datetime) -> Iterator[Item]:
    """Files and tables of predictions in the group's own bucket and dataset; those that
    `predict.output` names are the callers'.
    """
    why = "the predictions have expired"
    bucket = services.group.bucket
    for experiment in folders(services.storage, bucket):
        for folder in folders(services.storage, bucket, f"{experiment}predictions/"):
            if _newest(services, folder) < before:
                yield from folder_of(services, folder, why)
    place = f"{services.group.project}.{services.group.dataset}"
    for table in _found(lambda: list(services.bigquery.list_tables(place))) or ():
        own = table.table_id.startswith(PREDICTIONS) and "experiment" in table.labels
        if own and table.created < before:
            yield from table_of(services, str(table.reference), why)
    # Batch predictions write tables of their own, which runs make theirs of.
    request = {"parent": services.parent, "filter": _BATCH_PREDICTIONS}
    for job in services.jobs.list_batch_prediction_jobs(request=request, **REPEATABLE):
        written, ended = job.output_info.bigquery_output_table, cast(datetime, job.end_time)
        ours = job.output_info.bigquery_output_dataset == f"bq://{place}"
        if written and ours and ended < before:
            for name in (written, f"{written}_errors"):
                yield from table_of(services, services.group.own_table(name), why)


def _temporary(services: Services, before: datetime) -> Iterator[Item]:
    """Temporary files of Dataflow's jobs."""
    for folder in folders(services.storage, services.group.bucket, _TEMPORARY):
        if _newest(services, folder) < before:
            yield from folder_of(services, folder, "temporary")


def folder_of(services: Services, prefix: str, why: str) -> Iterator[Item]:
    """All objects below a prefix of the group's bucket, as one item; none if there are none."""
    bucket = services.group.bucket
    blobs = list(services.storage.list_blobs(bucket, prefix=prefix, fields=_FIELDS))
    if blobs:
        size = sum(blob.size or 0 for blob in blobs)
        yield Item(f"gs://{bucket}/{prefix}", why, _bound(_delete_all, blobs), size)


_FIELDS = "items(name,bucket,size,updated,generation),nextPageToken"


def _newest(services: Services, prefix: str) -> datetime:
    """The last change of an object of a folder."""
    found = services.storage.list_blobs(services.group.bucket, prefix=prefix, fields=_FIELDS)
    newest: datetime = max(blob.updated for blob in found)
    return newest


def table_of(services: Services, name: str, why: str) -> Iterator[Item]:
    """A table, as one item; none if it is not there."""
    table = _found(lambda: services.bigquery.get_table(name))
    if table is not None:
        delete = _bound(services.bigquery.delete_table, name, not_found_ok=True)
        yield Item(f"BigQuery table {name}", why, delete, table.num_bytes or 0)


def _delete_all(blobs: Iterable[Any]) -> None:
    """Delete objects in the generation that was listed: what was written since stays."""
    for blob in blobs:
        try:
            blob.delete(if_generation_match=blob.generation)
        except NotFound:
            continue


def _delete_model(client: Any, name: str) -> None:
    client.delete_model(name=name, timeout=CALL_TIMEOUT_SECONDS).result()


def _delete_dataset(client: Any, name: str) -> None:
    client.delete_dataset(name=name, timeout=CALL_TIMEOUT_SECONDS).result()


def _found(get: Callable[[], Any]) -> Any | None:
    try:
        return get()
    except NotFound:
        return None


def _bound(function: Callable[..., Any], *arguments: Any, **named: Any) -> Callable[[], Any]:
    return lambda: function(*arguments, **named)
