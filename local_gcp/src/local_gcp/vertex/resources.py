"""Functions that all services of jobs and pipelines share: find, list, end and show a job.

A "job" here is a message with `name`, `display_name`, `state`, `labels`, `create_time`, `end_time`
and `error`: CustomJob, HyperparameterTuningJob, BatchPredictionJob, TrainingPipeline.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from google.cloud import aiplatform_v1 as api
from google.rpc import code_pb2, status_pb2

from local_gcp import filters, names
from local_gcp.jobs.run import Run
from local_gcp.listing import masked, page
from local_gcp.state import Table
from local_gcp.wire import failed_precondition, not_found

T = TypeVar("T")

JOB_FIELDS = {
    "display_name": filters.Text("display_name"),
    "state": filters.Choice("state", api.JobState),
    "create_time": filters.Time("create_time"),
    "labels": filters.Labels("labels"),
}
"""Filterable fields of all kinds of jobs."""

CANCELED = status_pb2.Status(code=code_pb2.CANCELLED, message="CANCELED")
"""The error of a job that was cancelled, in Vertex AI's spelling."""


def find(table: Table, name: str, collection: str) -> Any:
    """The stored message of a resource name; INVALID_ARGUMENT, NOT_FOUND."""
    name = names.resource(name, collection)
    found = table.get(name)
    if found is None:
        raise not_found(name)
    return found


def listed(
    request: Any,
    field: str,
    messages: Iterable[T],
    fields: Mapping[str, filters.Field],
    complete: Callable[[T], T] = lambda message: message,
) -> dict[str, Any]:
    """The response of a list method. `complete`: completes the resources of the page only."""
    matches = filters.parse_filter(request.filter, fields)
    found, token = page(filter(matches, messages), request.page_size, request.page_token)
    shown = [masked(complete(message), request.read_mask) for message in found]
    return {field: shown, "next_page_token": token}


def check_cancellable(job: Any) -> None:
    """Raise FAILED_PRECONDITION for an ended job, as seen in tests of Google's Java samples."""
    if job.end_time:
        raise failed_precondition(
            f'The {type(job).__name__} "{job.name}" is in state {job.state.name} and cannot be '
            "canceled."
        )


def check_deletable(job: Any) -> None:
    """Raise FAILED_PRECONDITION for an unfinished job."""
    if not job.end_time:
        raise failed_precondition(
            f'The {type(job).__name__} "{job.name}" is in state {job.state.name} and cannot be '
            "deleted. Cancel it and wait until it has ended."
        )


def follow(message: Any, run: Run) -> None:
    """Give a job the times and the error of its run; the caller sets state and end."""
    message.update_time = timestamp(run.updated)
    if run.started:
        message.start_time = timestamp(run.started)
    if run.error and run.final:
        message.error = run.error
    elif run.state == "cancelled":
        message.error = CANCELED


def ending(run: Run) -> Run:
    """A run while its results are being written, which its job shows as unfinished."""
    if run.final:
        run.state, run.error = "running", None
    return run


def shown(job: Any, kind: str, cores: int, replicas: list[dict[str, Any]]) -> dict[str, Any]:
    """A job in the JSON of `local-gcp status`. `job`: with the state of its run."""
    return {
        "name": job.name,
        "display_name": job.display_name,
        "kind": kind,
        "state": job.state.name.replace("PIPELINE_STATE", "JOB_STATE"),
        "labels": dict(job.labels),
        "create_time": job.create_time.rfc3339(),
        "error": job.error.message or None,
        "cores": cores,
        "replicas": replicas,
        "trials": [],
    }


PENDING: Any = api.JobState.JOB_STATE_PENDING
QUEUED: Any = api.JobState.JOB_STATE_QUEUED


def job_state(run: Run) -> Any:
    """The JobState of a run: it is QUEUED only while others have the cores that it needs."""
    return getattr(api.JobState, f"JOB_STATE_{_state(run)}")


def pipeline_state(run: Run) -> Any:
    """The PipelineState of a run, likewise."""
    return getattr(api.PipelineState, f"PIPELINE_STATE_{_state(run)}")


def _state(run: Run) -> str:
    return "PENDING" if run.state == "queued" and not run.waits else run.state.upper()


def timestamp(seconds: float) -> datetime.datetime:
    """Unix seconds for a Timestamp field of proto-plus."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def deletion_metadata() -> api.DeleteOperationMetadata:
    """Metadata of the operation of a finished deletion."""
    now = timestamp(time.time())
    return api.DeleteOperationMetadata(generic_metadata={"create_time": now, "update_time": now})
