"""Dataflow's jobs: launches them from flex templates, shows and cancels them.

One object for both protocols: its methods are those of the gRPC services, and REST calls them too.
A job whose program fails is failed at once, as on Dataflow; a process that is killed from outside
is restarted, as Dataflow repeats the work of a lost worker.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
from google.cloud import dataflow_v1beta3 as api
from google.protobuf import timestamp_pb2

from local_gcp import names, regions
from local_gcp.dataflow.command import run_spec
from local_gcp.dataflow.template import check_parameters, merged_environment, read_spec
from local_gcp.jobs.run import Run
from local_gcp.jobs.runner import Runner
from local_gcp.listing import page
from local_gcp.project import known_regions
from local_gcp.state import State
from local_gcp.wire import (
    RpcError,
    failed_precondition,
    invalid_argument,
    not_emulated,
    not_found,
)

_STATES = {
    "queued": api.JobState.JOB_STATE_QUEUED,
    "pending": api.JobState.JOB_STATE_PENDING,
    "running": api.JobState.JOB_STATE_RUNNING,
    "cancelling": api.JobState.JOB_STATE_CANCELLING,
    "succeeded": api.JobState.JOB_STATE_DONE,
    "failed": api.JobState.JOB_STATE_FAILED,
    "cancelled": api.JobState.JOB_STATE_CANCELLED,
}
_IMPORTANCE = [
    api.JobMessageImportance.JOB_MESSAGE_IMPORTANCE_UNKNOWN,
    api.JobMessageImportance.JOB_MESSAGE_DEBUG,
    api.JobMessageImportance.JOB_MESSAGE_DETAILED,
    api.JobMessageImportance.JOB_MESSAGE_BASIC,
    api.JobMessageImportance.JOB_MESSAGE_WARNING,
    api.JobMessageImportance.JOB_MESSAGE_ERROR,
]
"""In ascending order, which is not that of the enum's numbers."""
_DEFAULT_REGION = "us-central1"
_JOB_NAME = re.compile(r"[a-z]([-a-z0-9]{0,1022}[a-z0-9])?")
_KEPT_LABELS = 64


class Jobs:
    """The methods of Dataflow's services. `buckets`: the folder of Cloud Storage."""

    def __init__(self, state: State, runner: Runner, buckets: Path, project: str):
        self._state, self._runner = state, runner
        self._buckets, self._project = buckets, project
        self._jobs = state.table("dataflowJobs", api.Job)

    def launch_flex_template(
        self, request: api.LaunchFlexTemplateRequest, _context: Any = None
    ) -> api.LaunchFlexTemplateResponse:
        """FlexTemplatesService.LaunchFlexTemplate."""
        region = self._region(request)
        launch = request.launch_parameter
        self._check(launch)
        template = read_spec(launch, self._buckets)
        launch.environment = merged_environment(template, launch)
        check_parameters(template, launch.parameters)
        spec = run_spec(template, launch, self._project, region)
        if request.validate_only:
            return api.LaunchFlexTemplateResponse()
        now = time.time()
        job = api.Job(
            id=_new_id(now),
            project_id=self._project,
            name=launch.job_name,
            type_=api.JobType.JOB_TYPE_BATCH,
            location=region,
            create_time=_timestamp(now),
            labels=dict(launch.environment.additional_user_labels),
        )
        with self._state.transaction():
            self._check_name(job)
            self._jobs.put(f"{region}/{job.id}", job)
            self._runner.submit(job.id, spec)
        return api.LaunchFlexTemplateResponse(job=self._complete(job))

    def get_job(self, request: api.GetJobRequest, _context: Any = None) -> api.Job:
        """JobsV1Beta3.GetJob, with the summary that a job has here, and its labels."""
        _check_view(request.view, api.JobView.JOB_VIEW_DESCRIPTION)
        return self._complete(self._job(request))

    def list_jobs(self, request: api.ListJobsRequest, _context: Any = None) -> api.ListJobsResponse:
        """JobsV1Beta3.ListJobs: newest first, with `filter`, `name` and paging."""
        _check_view(request.view)
        kinds = api.ListJobsRequest.Filter
        wanted: Callable[[Run], bool] = {
            kinds.TERMINATED: lambda run: run.final,
            kinds.ACTIVE: lambda run: not run.final,
        }.get(request.filter, lambda run: True)
        jobs = [
            job
            for _, job in self._jobs.list(prefix=f"{self._region(request)}/", newest_first=True)
            if (not request.name or job.name == request.name) and wanted(self._run(job))
        ]
        found, token = page(jobs, request.page_size, request.page_token)
        jobs = [self._complete(job) for job in found]
        return api.ListJobsResponse(jobs=jobs, next_page_token=token)

    def update_job(self, request: api.UpdateJobRequest, _context: Any = None) -> api.Job:
        """JobsV1Beta3.UpdateJob: requests a state; a batch job can only be cancelled."""
        job = self._job(request)
        for field, _ in api.Job.pb(request.job).ListFields():
            if field.name not in ("id", "name", "project_id", "location", "requested_state"):
                raise not_emulated(f"a change of the field {field.name} of a job")
        run = self._run(job)
        wanted = api.JobState(request.job.requested_state)
        if run.final:
            state = _STATES[run.state].name
            raise failed_precondition(f"Job {job.id} has ended ({state}) and cannot be changed.")
        if wanted is api.JobState.JOB_STATE_DRAINED:
            raise failed_precondition(
                f"Job {job.id} is a batch job; only streaming jobs can be drained. Cancel it."
            )
        if wanted is not api.JobState.JOB_STATE_CANCELLED:
            raise invalid_argument(
                "job.requested_state", f"{wanted.name} cannot be requested of a batch job."
            )
        with self._state.transaction():
            job.requested_state = wanted
            self._jobs.put(f"{job.location}/{job.id}", job)
            self._runner.cancel(job.id)
        return self._complete(job)

    def list_job_messages(
        self, request: api.ListJobMessagesRequest, _context: Any = None
    ) -> api.ListJobMessagesResponse:
        """MessagesV1Beta3.ListJobMessages; an error has the last lines of the log."""
        least = _IMPORTANCE.index(request.minimum_importance)
        messages = [
            message
            for message in self._messages(self._job(request))
            if _IMPORTANCE.index(message.message_importance) >= least
            and (not request.start_time or message.time >= request.start_time)
            and (not request.end_time or message.time < request.end_time)
        ]
        first, size = request.page_token or "0", request.page_size
        if not first.isdecimal() or size < 0:
            field = "page_size" if size < 0 else "page_token"
            raise invalid_argument(field, f"{getattr(request, field)!r} is not valid.")
        # Messages are only added, at the end: a page's token is its first one's index.
        last = int(first) + (size or len(messages))
        token = str(last) if last < len(messages) else ""
        return api.ListJobMessagesResponse(
            job_messages=messages[int(first) : last], next_page_token=token
        )

    def describe(self) -> list[dict[str, Any]]:
        """The jobs' part of `local-gcp status --json`."""
        entries = []
        for _, job in self._jobs.list():
            run = self._run(job)
            entries.append(
                {
                    "name": f"projects/{self._project}/locations/{job.location}/jobs/{job.id}",
                    "display_name": job.name,
                    "kind": "dataflow",
                    "state": _STATES[run.state].name,
                    "labels": dict(job.labels),
                    "create_time": job.create_time.rfc3339(),
                    "error": run.error["message"] if run.error else None,
                    "cores": run.spec.cores,
                    "replicas": self._runner.replicas(run),
                }
            )
        return entries

    def _check(self, launch: api.LaunchFlexTemplateParameter) -> None:
        if not _JOB_NAME.fullmatch(launch.job_name):
            raise invalid_argument(
                "launch_parameter.job_name",
                f"{launch.job_name!r} is not a job name: it must match {_JOB_NAME.pattern}.",
            )
        for field in ("update", "transform_name_mappings", "launch_options"):
            if getattr(launch, field):
                raise not_emulated(f"the field launch_parameter.{field}")
        if len(launch.environment.additional_user_labels) > _KEPT_LABELS:
            raise invalid_argument(
                "launch_parameter.environment.additional_user_labels",
                f"More than {_KEPT_LABELS} labels.",
            )

    def _check_name(self, job: api.Job) -> None:
        for _, other in self._jobs.list(prefix=f"{job.location}/"):
            if other.name == job.name and not self._run(other).final:
                raise RpcError(
                    grpc.StatusCode.ALREADY_EXISTS,
                    f"There is already an active job named {job.name}. If you want to submit a "
                    f"second job, try again by setting a different name. (It is {other.id}.)",
                )

    def _region(self, request: Any) -> str:
        region = request.location or _DEFAULT_REGION
        names.check_project(request.project_id)
        if region not in known_regions():
            # Dataflow's own message: it has one host for all regions.
            raise failed_precondition(
                "The workflow could not be created, since it was sent to an invalid regional "
                f"endpoint ({region}). Please resubmit to a valid Cloud Dataflow regional "
                f"endpoint. {regions.suggestion(region)} The list of Cloud Dataflow regional "
                "endpoints is at "
                "https://cloud.google.com/dataflow/docs/resources/locations."
            )
        return region

    def _job(self, request: Any) -> api.Job:
        region = self._region(request)
        job = self._jobs.get(f"{region}/{request.job_id}")
        if job is None:
            raise not_found(f"Job {request.job_id} in {region}")
        return job

    def _run(self, job: api.Job) -> Run:
        run = self._runner.get(job.id)
        if run is None:
            raise KeyError(f"Dataflow job {job.id} has no run")
        return run

    def _complete(self, job: api.Job) -> api.Job:
        run = self._run(job)
        job.current_state = _STATES[run.state]
        job.current_state_time = _timestamp(run.ended or run.updated)
        job.start_time = _timestamp(run.started or run.created)
        return job

    def _messages(self, job: api.Job) -> list[api.JobMessage]:
        run = self._run(job)
        basic, error = _IMPORTANCE[3], _IMPORTANCE[5]
        events = [(run.created, basic, f"Job {job.id} was accepted and waits for a core.")]
        if run.started:
            events.append((run.started, basic, "The template's program was started."))
        if run.error:
            text = f"Workflow failed. Causes: {run.error['message']}"
            events.append((run.ended or run.updated, error, text))
        elif run.ended:
            events.append((run.ended, basic, f"The job is {_STATES[run.state].name}."))
        return [
            api.JobMessage(
                id=f"{job.id}-{number}",
                time=_timestamp(moment),
                message_importance=importance,
                message_text=text,
            )
            for number, (moment, importance, text) in enumerate(events)
        ]


def _check_view(view: Any, *more: Any) -> None:
    if view not in (api.JobView.JOB_VIEW_UNKNOWN, api.JobView.JOB_VIEW_SUMMARY, *more):
        # A number that is no view stays a number: enumerations of proto3 are open.
        raise not_emulated(f"the view {getattr(view, 'name', view)} of a job")


def _new_id(now: float) -> str:
    """A job id as Dataflow's: 2025-01-31_12_00_00-1234567890123456789."""
    moment = time.strftime("%Y-%m-%d_%H_%M_%S", time.gmtime(now))
    return f"{moment}-{secrets.randbelow(9 * 10**18) + 10**18}"


def _timestamp(seconds: float) -> timestamp_pb2.Timestamp:
    message = timestamp_pb2.Timestamp()
    message.FromMicroseconds(round(seconds * 1e6))
    return message
