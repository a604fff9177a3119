"""PipelineService, as far as custom training goes: a CustomJob, and a model from what it wrote.

`aiplatform.CustomContainerTrainingJob` and its relatives, and Airflow's operators for them, create
TrainingPipelines. The pipeline's task is a CustomJobSpec in `training_task_inputs`; Vertex AI makes
a CustomJob of it (`backingCustomJob`), and when that has succeeded it uploads `model_to_upload`
from the job's model folder. State, times and error are the CustomJob's until then.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from google.cloud import aiplatform_v1 as api
from google.protobuf import empty_pb2, json_format
from google.rpc import code_pb2

from local_gcp import filters, names
from local_gcp.listing import masked, page
from local_gcp.operations import Operations
from local_gcp.state import State
from local_gcp.vertex import validation
from local_gcp.vertex.jobs import CustomJobs, deletion_metadata, timestamp
from local_gcp.vertex.models import Models
from local_gcp.vertex.run import Run
from local_gcp.vertex.runner import Runner
from local_gcp.vertex.tuning.space import as_text
from local_gcp.wire import RpcError, failed_precondition, invalid_argument, not_found, not_played

log = logging.getLogger(__name__)

CUSTOM_TASK = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
_JOB = "backingCustomJob"
_FIELD = "training_pipeline"
_FIELDS = {
    "display_name": filters.Text("display_name"),
    "state": filters.Choice("state", api.PipelineState),
    "training_task_definition": filters.Text("training_task_definition"),
    "create_time": filters.Time("create_time"),
    "labels": filters.Labels("labels"),
}
_STATES = {
    "queued": api.PipelineState.PIPELINE_STATE_QUEUED,
    "pending": api.PipelineState.PIPELINE_STATE_PENDING,
    "running": api.PipelineState.PIPELINE_STATE_RUNNING,
    "cancelling": api.PipelineState.PIPELINE_STATE_CANCELLING,
    "succeeded": api.PipelineState.PIPELINE_STATE_SUCCEEDED,
    "failed": api.PipelineState.PIPELINE_STATE_FAILED,
    "cancelled": api.PipelineState.PIPELINE_STATE_CANCELLED,
}


class Pipelines:
    """See the module."""

    def __init__(
        self,
        state: State,
        runner: Runner,
        operations: Operations,
        custom_jobs: CustomJobs,
        models: Models,
    ):
        self._state, self._runner, self._operations = state, runner, operations
        self._custom_jobs, self._models = custom_jobs, models
        self._table = state.table("trainingPipelines", api.TrainingPipeline)
        self._unfinished: dict[str, str] = {}
        """Names of pipelines by the id of their job's run."""

    def start(self) -> None:
        """Finish pipelines whose jobs have ended, now and from now on."""
        for name, pipeline in self._table.list():
            if not pipeline.end_time:
                self._unfinished[_run_id(pipeline)] = name
        self._runner.listen(self._on_run)
        for run_id in list(self._unfinished):
            self._on_run(run_id)

    def create_training_pipeline(self, request: Any, _context: Any) -> api.TrainingPipeline:
        parent, sent = names.location(request.parent), request.training_pipeline
        spec = self._check(parent, sent)
        pipeline = api.TrainingPipeline(sent)
        pipeline.name = f"{parent}/trainingPipelines/{names.new_id()}"
        pipeline.create_time = timestamp(time.time())
        if "model_to_upload" in sent and not sent.model_to_upload.artifact_uri:
            base = spec.base_output_directory.output_uri_prefix.rstrip("/")
            pipeline.model_to_upload.artifact_uri = f"{base}/model"
        create = api.CreateCustomJobRequest(
            parent=request.parent,
            custom_job={
                "display_name": f"{sent.display_name[:100]}-custom-job",
                "job_spec": spec,
                "encryption_spec": sent.encryption_spec,
            },
        )
        with self._state.transaction():
            job = self._custom_jobs.create_custom_job(create, None)
            pipeline.training_task_metadata = {_JOB: job.name}
            self._table.put(pipeline.name, pipeline)
            self._unfinished[_run_id(pipeline)] = pipeline.name
        return self._view(pipeline)

    def get_training_pipeline(self, request: Any, _context: Any) -> api.TrainingPipeline:
        return self._view(self._get(request.name))

    def list_training_pipelines(self, request: Any, _context: Any) -> dict[str, Any]:
        parent = names.location(request.parent)
        matches = filters.parse_filter(request.filter, _FIELDS)
        every = (self._view(p) for _, p in self._table.list(f"{parent}/trainingPipelines/"))
        found, token = page(filter(matches, every), request.page_size, request.page_token)
        return {
            "training_pipelines": [masked(pipeline, request.read_mask) for pipeline in found],
            "next_page_token": token,
        }

    def cancel_training_pipeline(self, request: Any, _context: Any) -> empty_pb2.Empty:
        pipeline = self._view(self._get(request.name))
        if pipeline.end_time:
            raise failed_precondition(
                f'The TrainingPipeline "{pipeline.name}" is in state {pipeline.state.name} and '
                "cannot be canceled."
            )
        self._runner.cancel(_run_id(pipeline))
        return empty_pb2.Empty()

    def delete_training_pipeline(self, request: Any, _context: Any) -> Any:
        with self._state.transaction():
            pipeline = self._view(self._get(request.name))
            if not pipeline.end_time:
                raise failed_precondition(
                    f'The TrainingPipeline "{pipeline.name}" is in state {pipeline.state.name} and '
                    "cannot be deleted. Cancel it and wait until it has ended."
                )
            self._table.delete(pipeline.name)
            return self._operations.done(pipeline.name, metadata=deletion_metadata())

    def _check(self, parent: str, sent: api.TrainingPipeline) -> api.CustomJobSpec:
        """The task of a pipeline that can run; INVALID_ARGUMENT or UNIMPLEMENTED otherwise."""
        validation.check_display_name(sent.display_name, f"{_FIELD}.display_name")
        validation.check_labels(sent.labels, f"{_FIELD}.labels")
        if sent.training_task_definition != CUSTOM_TASK:
            raise not_played(
                f"the training task {sent.training_task_definition!r}", f"Use {CUSTOM_TASK}."
            )
        if "input_data_config" in sent:
            raise not_played(
                f"{_FIELD}.input_data_config (managed datasets)",
                "Let the program read its data from a bucket.",
            )
        field = f"{_FIELD}.training_task_inputs"
        spec = api.CustomJobSpec()
        try:
            inputs = json_format.MessageToDict(type(sent).pb(sent).training_task_inputs)
            _write_numbers_as_text(inputs)
            json_format.ParseDict(inputs, api.CustomJobSpec.pb(spec))
        except (TypeError, json_format.ParseError) as error:
            raise invalid_argument(field, str(error)) from None
        validation.check_job_spec(spec, field)
        if "model_to_upload" in sent:
            self._check_model(parent, sent, spec)
        return spec

    def _check_model(
        self, parent: str, sent: api.TrainingPipeline, spec: api.CustomJobSpec
    ) -> None:
        model = sent.model_to_upload
        self._models.check(
            parent, model, sent.model_id, sent.parent_model, f"{_FIELD}.model_to_upload"
        )
        if not model.artifact_uri and not spec.base_output_directory.output_uri_prefix:
            raise invalid_argument(
                f"{_FIELD}.training_task_inputs.base_output_directory",
                "is required to upload a model: its files are those below BASE/model.",
            )

    def _on_run(self, run_id: str) -> None:
        """Finish the pipeline of a run that has ended: its model is uploaded in the same write."""
        name, run = self._unfinished.get(run_id), self._runner.get(run_id)
        if name is None or run is None or not run.final:
            return
        with self._state.transaction():
            pipeline = self._table.get(name)
            if pipeline and not pipeline.end_time:
                self._table.put(name, self._finished(pipeline, run))
                log.info("training pipeline %s: %s", name, pipeline.state.name)
        self._unfinished.pop(run_id, None)

    def _finished(self, pipeline: api.TrainingPipeline, run: Run) -> api.TrainingPipeline:
        pipeline = _follow(pipeline, run)
        pipeline.end_time = timestamp(time.time())
        if run.state == "succeeded" and "model_to_upload" in pipeline:
            parent = pipeline.name.partition("/trainingPipelines/")[0]
            try:
                target = self._models.target(parent, pipeline.model_id, pipeline.parent_model)
                pipeline.model_to_upload = self._models.upload(
                    target, pipeline.model_to_upload, training_pipeline=pipeline.name
                )
            except RpcError as error:
                pipeline.state = api.PipelineState.PIPELINE_STATE_FAILED
                pipeline.error = {
                    "code": getattr(code_pb2, error.code.name),
                    "message": f"The model could not be uploaded. {error.message}",
                }
        return pipeline

    def _view(self, pipeline: api.TrainingPipeline) -> api.TrainingPipeline:
        if pipeline.end_time:
            return pipeline
        run = self._runner.get(_run_id(pipeline))
        if run is None:
            raise KeyError(pipeline.name)
        if run.final:
            # Its end is being written: until then it is not over.
            run.state, run.error = "running", None
        return _follow(pipeline, run)

    def _get(self, name: str) -> api.TrainingPipeline:
        name = names.resource(name, "trainingPipelines")
        pipeline = self._table.get(name)
        if pipeline is None:
            raise not_found(name)
        return pipeline


def _write_numbers_as_text(inputs: Any) -> None:
    """The SDK lets people give numbers as arguments; in a Value they have become doubles."""
    for pool in inputs.get("worker_pool_specs") or inputs.get("workerPoolSpecs") or []:
        for name in ("container_spec", "containerSpec", "python_package_spec", "pythonPackageSpec"):
            task = pool.get(name) or {}
            if "args" in task:
                task["args"] = [as_text(argument) for argument in task["args"]]


def _follow(pipeline: api.TrainingPipeline, run: Run) -> api.TrainingPipeline:
    """The pipeline with the state of its job's run."""
    pipeline.state = _STATES[run.state]
    pipeline.update_time = timestamp(run.updated)
    if run.started:
        pipeline.start_time = timestamp(run.started)
    if run.state == "failed" and run.error:
        pipeline.error = run.error
    elif run.state == "cancelled":
        pipeline.error = run.error or {"code": code_pb2.CANCELLED, "message": "CANCELED"}
    return pipeline


def _run_id(pipeline: api.TrainingPipeline) -> str:
    return names.last(pipeline.training_task_metadata[_JOB])
