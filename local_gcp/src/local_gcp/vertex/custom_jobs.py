"""CustomJobs: create, get, list, cancel, delete (google.cloud.aiplatform.v1.JobService).

A CustomJob is what the client sent, in table "customJobs", and a run of the runner with the job's
numeric id; state, times and error are the run's, so they cannot disagree with what really runs.
Both are written in one transaction before the client has its answer.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from typing import Any

import grpc
from google.cloud import aiplatform_v1 as api
from google.protobuf import empty_pb2
from google.rpc import code_pb2, status_pb2

from local_gcp import filters, names
from local_gcp.listing import masked, page
from local_gcp.operations import Operations
from local_gcp.state import State
from local_gcp.vertex import validation
from local_gcp.vertex.run import Run, Spec
from local_gcp.vertex.runner import Runner
from local_gcp.vertex.workload import run_spec
from local_gcp.wire import RpcError, failed_precondition, not_found

REPLICAS_PER_CORE = 8
"""TensorFlow needs 0.6 GB in each process."""

JOB_FIELDS = {
    "display_name": filters.Text("display_name"),
    "state": filters.Choice("state", api.JobState),
    "create_time": filters.Time("create_time"),
    "labels": filters.Labels("labels"),
}
"""What ListCustomJobs, and the lists of the other kinds of jobs, can filter by."""

CANCELED = status_pb2.Status(code=code_pb2.CANCELLED, message="CANCELED")
"""The error of a job that was cancelled, in Vertex AI's spelling."""


class CustomJobs:
    """Part of JobService. See the module."""

    def __init__(self, state: State, runner: Runner, operations: Operations):
        self.runner = runner
        self._state, self._operations = state, operations
        self._table = state.table("customJobs", api.CustomJob)

    def create_custom_job(self, request: Any, _context: Any) -> api.CustomJob:
        return self.create(names.location(request.parent), request.custom_job)

    def create(
        self, parent: str, sent: api.CustomJob, data: Mapping[str, str] | None = None
    ) -> api.CustomJob:
        """Store and start a job. `data`: variables that lead its program to a managed dataset."""
        validation.check_display_name(sent.display_name, "custom_job.display_name")
        validation.check_labels(sent.labels, "custom_job.labels")
        validation.check_job_spec(sent.job_spec, "custom_job.job_spec")
        job_id = names.new_id()
        spec = run_spec(
            sent.job_spec, job_id, names.last(parent), field="custom_job.job_spec", data=data
        )
        check_size(spec, self.runner)
        job = api.CustomJob(
            name=f"{parent}/customJobs/{job_id}",
            display_name=sent.display_name,
            job_spec=sent.job_spec,
            labels=sent.labels,
            create_time=timestamp(time.time()),
        )
        if "encryption_spec" in sent:
            job.encryption_spec = sent.encryption_spec
        with self._state.transaction():
            self._table.put(job.name, job)
            run = self.runner.submit(job_id, spec)
        return _view(job, run)

    def get_custom_job(self, request: Any, _context: Any) -> api.CustomJob:
        return self._get(request.name)

    def list_custom_jobs(self, request: Any, _context: Any) -> dict[str, Any]:
        matches = filters.parse_filter(request.filter, JOB_FIELDS)
        parent = names.location(request.parent)
        jobs = [_view(*pair) for pair in self._with_runs(f"{parent}/customJobs/")]
        jobs, token = page(filter(matches, jobs), request.page_size, request.page_token)
        return {
            "custom_jobs": [masked(job, request.read_mask) for job in jobs],
            "next_page_token": token,
        }

    def cancel_custom_job(self, request: Any, _context: Any) -> empty_pb2.Empty:
        job = self._get(request.name)
        # Google's answer for a job that is over, seen in tests of its Java samples.
        if job.end_time:
            raise failed_precondition(
                f'The CustomJob "{job.name}" is in state {job.state.name} and cannot be canceled.'
            )
        self.runner.cancel(names.last(job.name))
        return empty_pb2.Empty()

    def delete_custom_job(self, request: Any, _context: Any) -> Any:
        with self._state.transaction():
            job = self._get(request.name)
            if not job.end_time:
                raise failed_precondition(
                    f'The CustomJob "{job.name}" is in state {job.state.name} and cannot be '
                    "deleted. Cancel it and wait until it has ended."
                )
            self._table.delete(job.name)
            self.runner.forget(names.last(job.name))
            return self._operations.done(job.name, metadata=deletion_metadata())

    def preempt(self, job_id: str) -> bool:
        """Take the machine of the job (resource name or id) away; False if it is none of mine."""
        return self.runner.preempt(names.last(job_id))

    def status(self) -> list[dict[str, Any]]:
        """The CustomJobs in the JSON of `python -m local_gcp status`, oldest first."""
        return [self._status(_view(job, run), run) for job, run in self._with_runs("")]

    def _status(self, job: api.CustomJob, run: Run) -> dict[str, Any]:
        return {
            "name": job.name,
            "display_name": job.display_name,
            "kind": "custom",
            "state": job.state.name,
            "labels": dict(job.labels),
            "create_time": job.create_time.rfc3339(),
            "error": job.error.message or None,
            "cores": run.spec.cores,
            "job_restarts": run.job_restarts,
            "preemptions": run.preemptions,
            "replicas": self.runner.replicas(run),
            "trials": [],
        }

    def _with_runs(self, prefix: str) -> list[tuple[api.CustomJob, Run]]:
        """Stored jobs and their runs; neither is deleted in between."""
        with self._state.transaction():
            jobs = self._table.list(prefix)
            return [(job, self.runner.get(names.last(name))) for name, job in jobs]

    def _get(self, name: str) -> api.CustomJob:
        name = names.resource(name, "customJobs")
        with self._state.transaction():
            job = self._table.get(name)
            if job is None:
                raise not_found(name)
            return _view(job, self.runner.get(names.last(name)))


def _view(job: api.CustomJob, run: Run) -> api.CustomJob:
    """The stored job with what its run says of it."""
    job.state = job_state(run)
    follow(job, run)
    if run.ended:
        job.end_time = timestamp(run.ended)
    return job


def follow(message: Any, run: Run) -> None:
    """Give a job or pipeline the times and the error of its run; state and end are the caller's."""
    message.update_time = timestamp(run.updated)
    if run.started:
        message.start_time = timestamp(run.started)
    if run.error and run.final:
        message.error = run.error
    elif run.state == "cancelled":
        message.error = CANCELED


def check_size(spec: Spec, runner: Runner) -> None:
    """Refuse what would bury the machine, as a quota does: replicas of one job run at once."""
    most = REPLICAS_PER_CORE * runner.machine.cores
    if spec.cores > most:
        raise RpcError(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f"The job asks for {spec.cores} replicas. They all run at once, and local_gcp starts "
            f"at most {most} ({REPLICAS_PER_CORE} for each of {runner.machine.cores} core slots).",
        )


def job_state(run: Run) -> api.JobState:
    """The run's state as Vertex AI calls it."""
    return api.JobState[f"JOB_STATE_{run.state.upper()}"]


def timestamp(seconds: float) -> datetime.datetime:
    """Unix seconds as proto-plus takes them for a Timestamp field."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def deletion_metadata() -> api.DeleteOperationMetadata:
    """Metadata of the operation of a deletion that was done just now."""
    now = timestamp(time.time())
    return api.DeleteOperationMetadata(generic_metadata={"create_time": now, "update_time": now})
