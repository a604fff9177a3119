"""CustomJobs: create, get, list, cancel, delete (google.cloud.aiplatform.v1.JobService).

A CustomJob is the client's message, in table "customJobs", and a run of the runner with the job's
numeric id; state, times and error come from the run, so they match the processes. Both are written
in one transaction before the client gets its response.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
from google.cloud import aiplatform_v1 as api
from google.protobuf import empty_pb2

from local_gcp import names
from local_gcp.jobs.run import HAS_MACHINES, Run, Spec
from local_gcp.jobs.runner import Runner
from local_gcp.state import State
from local_gcp.vertex import validation
from local_gcp.vertex.resources import (
    JOB_FIELDS,
    check_cancellable,
    find,
    follow,
    job_state,
    listed,
    shown,
    timestamp,
)
from local_gcp.vertex.workload import run_spec
from local_gcp.wire import RpcError

REPLICAS_PER_CORE = 8
"""TensorFlow needs 0.6 GB in each process."""


class CustomJobs:
    """Part of JobService. See the module."""

    def __init__(self, state: State, runner: Runner):
        self.runner = runner
        self._state = state
        self._table = state.table("customJobs", api.CustomJob)

    def create_custom_job(self, request: Any, _context: Any) -> api.CustomJob:
        return self.create(names.location(request.parent), request.custom_job)

    def create(self, parent: str, sent: api.CustomJob) -> api.CustomJob:
        """Store and start a job."""
        validation.check_resource(sent, "custom_job", names.last(parent))
        validation.check_job_spec(sent.job_spec, "custom_job.job_spec")
        job_id = names.new_id()
        spec = run_spec(sent.job_spec, job_id, names.last(parent), field="custom_job.job_spec")
        check_size(spec, self.runner)
        job = api.CustomJob(
            name=f"{parent}/customJobs/{job_id}",
            display_name=sent.display_name,
            job_spec=sent.job_spec,
            labels=sent.labels,
        )
        if "encryption_spec" in sent:
            job.encryption_spec = sent.encryption_spec
        add_disks(job.job_spec)
        with self._state.transaction():
            run = self.runner.submit(job_id, spec)
            job.create_time = timestamp(run.created)
            self._table.put(job.name, job)
        job = _view(job, run)
        return job

    def get_custom_job(self, request: Any, _context: Any) -> api.CustomJob:
        return self._get(request.name)

    def list_custom_jobs(self, request: Any, _context: Any) -> dict[str, Any]:
        prefix = f"{names.location(request.parent)}/customJobs/"
        shown = {name for name, _ in self._table.list_lagging(prefix)}
        pairs = [pair for pair in self._with_runs(prefix) if pair[0].name in shown]
        return listed(request, "custom_jobs", (_view(*pair) for pair in pairs), JOB_FIELDS)

    def cancel_custom_job(self, request: Any, _context: Any) -> empty_pb2.Empty:
        job = self._get(request.name)
        check_cancellable(job)
        self.runner.cancel(names.last(job.name))
        return empty_pb2.Empty()

    def preempt(self, job_id: str) -> bool:
        """Preempt the machine of the job (resource name or id); False if there is no such job."""
        return self.runner.preempt(names.last(job_id))

    def machines(self) -> Iterator[tuple[str, api.CustomJobSpec]]:
        """(region, spec) of each job that has its machines."""
        for job, run in self._with_runs(""):
            if run.state in HAS_MACHINES:
                yield job.name.split("/")[3], job.job_spec

    def status(self) -> list[dict[str, Any]]:
        """The CustomJobs in the JSON of `local-gcp status`, oldest first."""
        return [self._status(_view(job, run), run) for job, run in self._with_runs("")]

    def _status(self, job: api.CustomJob, run: Run) -> dict[str, Any]:
        return {
            **shown(job, "custom", run.spec.cores, self.runner.replicas(run)),
            "job_restarts": run.job_restarts,
            "preemptions": run.preemptions,
        }

    def _with_runs(self, prefix: str) -> list[tuple[api.CustomJob, Run]]:
        """Stored jobs and their runs; neither is deleted in between."""
        with self._state.transaction():
            jobs = self._table.list(prefix)
            return [(job, self.runner.get(names.last(name))) for name, job in jobs]

    def _get(self, name: str) -> api.CustomJob:
        with self._state.transaction():
            job = find(self._table, name, "customJobs")
            return _view(job, self.runner.get(names.last(name)))


def _view(job: api.CustomJob, run: Run) -> api.CustomJob:
    """The stored job with the state of its run."""
    job.state = job_state(run)
    follow(job, run)
    if run.ended:
        job.end_time = timestamp(run.ended)
    return job


def check_size(spec: Spec, runner: Runner) -> None:
    """Refuse a job that is too large for the machine, as a quota does."""
    most = REPLICAS_PER_CORE * runner.machine.cores
    if spec.cores > most:
        raise RpcError(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f"The job asks for {spec.cores} replicas. They all run at once, and local_gcp starts "
            f"at most {most} ({REPLICAS_PER_CORE} for each of {runner.machine.cores} core slots).",
        )


def add_disks(spec: api.CustomJobSpec) -> None:
    """Give each pool without a disk the default one, as real jobs show it."""
    for pool in spec.worker_pool_specs:
        if pool.machine_spec.machine_type and not pool.disk_spec:
            pool.disk_spec = api.DiskSpec(boot_disk_type="pd-ssd", boot_disk_size_gb=100)
