"""BatchPredictionJobs: create, get, list, cancel, delete (google.cloud.aiplatform.v1.JobService).

A job is the client's message, in table "batchPredictionJobs", and a run with the job's id. Since
the run's program cannot access BigQuery, the server exports the input table to a file before it and
writes the result tables after it, in the background; after a kill, both are repeated.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from pathlib import Path
from typing import Any

import grpc
import pyarrow.parquet as pq
from google.cloud import aiplatform_v1 as api
from google.protobuf import empty_pb2
from google.rpc import status_pb2

from local_gcp import names
from local_gcp.jobs.program import LEARNED, own_program
from local_gcp.jobs.run import Run
from local_gcp.jobs.runner import Runner
from local_gcp.operations import Operations
from local_gcp.state import State
from local_gcp.vertex.background import Background
from local_gcp.vertex.batch_prediction import request as requests
from local_gcp.vertex.batch_prediction.files import COUNTS
from local_gcp.vertex.batch_prediction.request import FIELD
from local_gcp.vertex.registry import Registry
from local_gcp.vertex.resources import (
    CANCELED,
    JOB_FIELDS,
    PENDING,
    QUEUED,
    check_cancellable,
    check_deletable,
    deletion_metadata,
    ending,
    find,
    follow,
    job_state,
    listed,
    shown,
    timestamp,
)
from local_gcp.vertex.tables import Tables
from local_gcp.wire import RpcError, not_emulated

log = logging.getLogger(__name__)

_DELETE = "delete_batch_prediction_job"


class BatchPredictionJobs:
    """Part of JobService. See the module. `work`: a folder; `trained`: of the models' files."""

    def __init__(
        self,
        state: State,
        runner: Runner,
        operations: Operations,
        background: Background,
        registry: Registry,
        tables: Tables,
        work: Path,
        trained: Path,
    ):
        self._state, self._runner, self._operations = state, runner, operations
        self._background, self._registry, self._tables = background, registry, tables
        self._work, self._trained = work, trained
        self._table = state.table("batchPredictionJobs", api.BatchPredictionJob)
        operations.define(_DELETE, api.DeleteBatchPredictionJobRequest, self._delete)

    def start(self) -> None:
        """Continue unfinished jobs."""
        self._runner.listen(self._on_run)
        for name, job in self._table.list():
            if not job.end_time:
                if self._runner.get(names.last(name)):
                    self._on_run(names.last(name))
                else:
                    self._background.submit(self._begin, self._failed, name)

    def create_batch_prediction_job(self, request: Any, _context: Any) -> api.BatchPredictionJob:
        parent, sent = names.location(request.parent), request.batch_prediction_job
        if sent.unmanaged_container_model:
            raise not_emulated(f"{FIELD}.unmanaged_container_model", "Upload the model.")
        if "publishers/" in sent.model:
            raise not_emulated(f"publisher models ({sent.model})")
        requests.check_message(sent, names.last(parent))
        model = self._registry.find(sent.model)
        requests.check(sent, model)
        self._check_destination(sent.output_config.bigquery_destination.output_uri)
        job = api.BatchPredictionJob(sent)
        number, now = names.new_id(), timestamp(time.time())
        job.name = f"{parent}/batchPredictionJobs/{number}"
        job.model, job.model_version_id = model.name, model.version_id
        job.create_time = job.update_time = now
        job.state = PENDING
        job.output_info = requests.output_info(sent, model, now)
        if requests.model_kind(model) == "container":
            job.manual_batch_tuning_parameters = sent.manual_batch_tuning_parameters
        else:
            api.BatchPredictionJob.pb(job).ClearField("dedicated_resources")
        if requests.model_kind(model) == "image":
            job.completion_stats.incomplete_count = -1
        self._table.put(job.name, job)
        begun = self._view(job)
        self._background.submit(self._begin, self._failed, job.name)
        return begun

    def get_batch_prediction_job(self, request: Any, _context: Any) -> api.BatchPredictionJob:
        return self._view(self._get(request.name))

    def list_batch_prediction_jobs(self, request: Any, _context: Any) -> dict[str, Any]:
        prefix = f"{names.location(request.parent)}/batchPredictionJobs/"
        jobs = (self._view(job) for _, job in self._table.list_lagging(prefix))
        return listed(request, "batch_prediction_jobs", jobs, JOB_FIELDS)

    def cancel_batch_prediction_job(self, request: Any, _context: Any) -> empty_pb2.Empty:
        with self._state.transaction():
            job = self._get(request.name)
            check_cancellable(job)
            if self._runner.get(names.last(job.name)):
                self._runner.cancel(names.last(job.name))
            else:  # the thread that prepares it checks this before it continues
                self._end(job, api.JobState.JOB_STATE_CANCELLED, CANCELED)
        return empty_pb2.Empty()

    def delete_batch_prediction_job(self, request: Any, _context: Any) -> Any:
        job = self._get(request.name)
        check_deletable(job)
        return self._operations.begin_deletion(_DELETE, job.name, request, deletion_metadata())

    def _delete(self, name: str, _request: Any) -> None:
        check_deletable(self._get(name))
        self._table.delete(name)
        if self._runner.get(names.last(name)):
            self._runner.forget(names.last(name))

    def status(self) -> list[dict[str, Any]]:
        """The jobs in the JSON of `local-gcp status`, oldest first."""
        return [self._status(job, self._runner.get(names.last(n))) for n, job in self._table.list()]

    def _status(self, job: api.BatchPredictionJob, run: Run | None) -> dict[str, Any]:
        replicas = self._runner.replicas(run) if run else []
        return shown(self._view(job), "batch", run.spec.cores if run else 0, replicas)

    def _check_destination(self, uri: str) -> None:
        """Refuse a fully named table that exists."""
        field = f"{FIELD}.output_config.bigquery_destination.output_uri"
        if uri.count(".") == 2 and self._tables.exists(uri, field):
            raise RpcError(grpc.StatusCode.ALREADY_EXISTS, f"{field}: {uri} exists.")

    def _begin(self, name: str) -> None:
        """Prepare the instances of a job, then submit its run."""
        job = self._table.get(name)
        if job is None or job.end_time:
            return
        work = self._folder(job)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        if "bigquery_source" in job.input_config:
            uri = job.input_config.bigquery_source.input_uri
            field = f"{FIELD}.input_config.bigquery_source.input_uri"
            self._tables.stage(uri, work / requests.INSTANCES, field)
        model = self._registry.find(f"{job.model}@{job.model_version_id}")
        container = requests.model_kind(model) == "container"
        if container:
            model.artifact_uri = self._registry.artifacts(model)
        config = requests.program(job, model, self._tables.buckets, self._trained, work)
        file = work / "config.json"
        file.write_text(json.dumps(config))
        with self._state.transaction():
            if self._get(name).end_time:  # cancelled in the meantime
                shutil.rmtree(work, ignore_errors=True)
                return
            module = "local_gcp.vertex.batch_prediction.predict"
            spec = own_program(module, str(file), preload="" if container else LEARNED)
            self._runner.submit(names.last(name), spec)
        self._on_run(names.last(name))

    def _on_run(self, run_id: str) -> None:
        """Finish the job of a run that has ended, in the background: tables may be large."""
        run = self._runner.get(run_id)
        if run is None or not run.final:
            return
        for name, job in self._table.list():
            if names.last(name) == run_id and not job.end_time:
                self._background.submit(self._finish, self._failed, name)

    def _finish(self, name: str) -> None:
        """Publish the results of a job whose run is over, and end it."""
        job, run = self._table.get(name), self._runner.get(names.last(name))
        if job is None or job.end_time:
            return
        counts = None
        if run.state == "succeeded":
            results = self._folder(job) / "results"
            counts = json.loads((results / COUNTS).read_text())
            if job.output_info.bigquery_output_dataset:
                self._publish(job, results)
        with self._state.transaction():
            job = self._get(name)
            if job.end_time:
                return
            job = _follow(job, run)
            if counts:
                job.completion_stats = {
                    "successful_count": counts["successful"],
                    "failed_count": counts["failed"],
                }
                job.partial_failures = [status_pb2.Status(**p) for p in counts["problems"]]
            else:
                job.output_info = None
            self._end(job, job.state, job.error)

    def _publish(self, job: api.BatchPredictionJob, results: Path) -> None:
        info, field = job.output_info, f"{FIELD}.output_config.bigquery_destination"
        dataset = info.bigquery_output_dataset
        given = job.output_config.bigquery_destination.output_uri
        create = given.count(".") == 0
        predictions = results / "predictions.parquet"
        table = f"{dataset}.{info.bigquery_output_table}"
        self._tables.publish(table, predictions, field, create=create)
        with pq.ParquetFile(results / "errors.parquet") as errors:
            failed = errors.metadata.num_rows
        if failed:
            kind = requests.model_kind(self._registry.find(f"{job.model}@{job.model_version_id}"))
            table = f"{dataset}.{requests.errors_table(info, kind)}"
            self._tables.publish(table, results / "errors.parquet", field, create=create)

    def _failed(self, name: str, error: status_pb2.Status) -> None:
        with self._state.transaction():
            job = self._table.get(name)
            if job and not job.end_time:
                job.output_info = None
                self._end(job, api.JobState.JOB_STATE_FAILED, error)

    def _end(self, job: api.BatchPredictionJob, state: Any, error: status_pb2.Status) -> None:
        job.state = state
        if error.code:
            job.error = error
        job.end_time = job.update_time = timestamp(time.time())
        self._table.put(job.name, job)
        log.info("batch prediction %s: %s", job.name, job.state.name)
        shutil.rmtree(self._folder(job), ignore_errors=True)

    def _view(self, job: api.BatchPredictionJob) -> api.BatchPredictionJob:
        """The job as clients see it, without its outputs before it has ended."""
        if job.end_time:
            return job
        run, job = self._runner.get(names.last(job.name)), api.BatchPredictionJob(job)
        api.BatchPredictionJob.pb(job).ClearField("output_info")
        return job if run is None else _follow(job, ending(run))

    def _folder(self, job: api.BatchPredictionJob) -> Path:
        return self._work / names.last(job.name)

    def _get(self, name: str) -> api.BatchPredictionJob:
        return find(self._table, name, "batchPredictionJobs")


def _follow(job: api.BatchPredictionJob, run: Run) -> api.BatchPredictionJob:
    """The job with the state of its run: while it waits for a machine, it is pending."""
    job.state = job_state(run)
    if job.state == QUEUED:
        job.state = PENDING
    follow(job, run)
    return job
