"""PipelineService: training pipelines, each with data, a run of the runner, and a model.

`aiplatform.CustomContainerTrainingJob` and its relatives, the AutoML ones, and Airflow's operators
for them, create TrainingPipelines. training.py does what depends on a pipeline's task; this module
has what all pipelines share. A pipeline with a managed dataset is PENDING while its data is read in
the background; then its run is submitted, in one write with the pipeline; when that has succeeded
the model is uploaded, in one write with the pipeline's end. So a kill at any moment loses nothing:
without a run the data is read again, and for a run that has ended, its end is written again.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.cloud import aiplatform_v1 as api
from google.protobuf import empty_pb2
from google.rpc import code_pb2, status_pb2

from local_gcp import filters, names
from local_gcp.field_errors import invalid_field
from local_gcp.jobs.run import Run
from local_gcp.jobs.runner import Runner
from local_gcp.operations import Operations
from local_gcp.state import State
from local_gcp.vertex import validation
from local_gcp.vertex.background import Background
from local_gcp.vertex.resources import (
    CANCELED,
    check_cancellable,
    check_deletable,
    deletion_metadata,
    ending,
    find,
    follow,
    listed,
    pipeline_state,
    shown,
    timestamp,
)
from local_gcp.vertex.training import FIELD, Task
from local_gcp.wire import RpcError, not_emulated

log = logging.getLogger(__name__)

_DELETE = "delete_training_pipeline"
_FIELDS = {
    "display_name": filters.Text("display_name"),
    "state": filters.Choice("state", api.PipelineState),
    "training_task_definition": filters.Text("training_task_definition"),
    "create_time": filters.Time("create_time"),
    "labels": filters.Labels("labels"),
}


class Pipelines:
    """See the module. `tasks`: by their definition's URI; `work`: a folder for data."""

    def __init__(
        self,
        state: State,
        runner: Runner,
        operations: Operations,
        background: Background,
        tasks: Mapping[str, Task],
        work: Path,
    ):
        self._state, self._runner, self._operations = state, runner, operations
        self._background, self._tasks, self._work = background, tasks, work
        self._table = state.table("trainingPipelines", api.TrainingPipeline)
        operations.define(_DELETE, api.DeleteTrainingPipelineRequest, self._delete)
        self._unfinished: dict[str, str] = {}
        """Names of pipelines by the id of their run."""

    def start(self) -> None:
        """Continue unfinished pipelines."""
        self._runner.listen(self._on_run)
        for name, pipeline in self._table.list():
            if not pipeline.end_time:
                if self._run(pipeline):
                    self._follow_up(pipeline)
                else:
                    self._background.submit(self._stage, self._staging_failed, name)

    def create_training_pipeline(self, request: Any, _context: Any) -> api.TrainingPipeline:
        parent, sent = names.location(request.parent), request.training_pipeline
        pipeline = api.TrainingPipeline(sent)
        pipeline.name = f"{parent}/trainingPipelines/{names.new_id()}"
        pipeline.create_time = pipeline.update_time = timestamp(time.time())
        self._check(parent, pipeline)
        pipeline.training_task_inputs = self._task(pipeline).answered(pipeline)
        pipeline.state = api.PipelineState.PIPELINE_STATE_PENDING
        answer = api.TrainingPipeline(pipeline)
        if "input_data_config" in sent:
            self._table.put(pipeline.name, pipeline)
            self._background.submit(self._stage, self._staging_failed, pipeline.name)
        else:
            self._launch(pipeline, None)
        return answer

    def get_training_pipeline(self, request: Any, _context: Any) -> api.TrainingPipeline:
        return self._view(self._get(request.name))

    def list_training_pipelines(self, request: Any, _context: Any) -> dict[str, Any]:
        prefix = f"{names.location(request.parent)}/trainingPipelines/"
        pipelines = (self._view(pipeline) for _, pipeline in self._table.list_lagging(prefix))
        return listed(request, "training_pipelines", pipelines, _FIELDS)

    def cancel_training_pipeline(self, request: Any, _context: Any) -> empty_pb2.Empty:
        with self._state.transaction():
            pipeline = self._view(self._get(request.name))
            check_cancellable(pipeline)
            if run := self._run(pipeline):
                self._runner.cancel(run.id)
            else:  # the thread that reads its data checks this before it continues
                self._end(pipeline, api.PipelineState.PIPELINE_STATE_CANCELLED, CANCELED)
        return empty_pb2.Empty()

    def delete_training_pipeline(self, request: Any, _context: Any) -> Any:
        pipeline = self._view(self._get(request.name))
        check_deletable(pipeline)
        return self._operations.begin_deletion(_DELETE, pipeline.name, request, deletion_metadata())

    def _delete(self, name: str, _request: Any) -> None:
        check_deletable(self._view(self._get(name)))
        self._table.delete(name)

    def status(self) -> list[dict[str, Any]]:
        """Pipelines without a job of their own, in the JSON of `local-gcp status`."""
        return [
            self._status(pipeline, run)
            for _, pipeline in self._table.list()
            if not pipeline.training_task_definition.endswith("custom_task_1.0.0.yaml")
            and ((run := self._run(pipeline)) or not pipeline.end_time)
        ]

    def _status(self, pipeline: api.TrainingPipeline, run: Run | None) -> dict[str, Any]:
        replicas = self._runner.replicas(run) if run else []
        return shown(self._view(pipeline), "automl", run.spec.cores if run else 0, replicas)

    def _check(self, parent: str, pipeline: api.TrainingPipeline) -> None:
        """INVALID_ARGUMENT, NOT_FOUND or UNIMPLEMENTED for a pipeline that cannot run."""
        validation.check_resource(pipeline, FIELD, names.last(parent))
        if pipeline.training_task_definition not in self._tasks:
            raise not_emulated(
                f"the training task {pipeline.training_task_definition!r}",
                f"Use {', '.join(self._tasks)}.",
            )
        for field in ("model_id", "parent_model"):
            if getattr(pipeline, field) and "model_to_upload" not in pipeline:
                raise invalid_field(f"{FIELD}.{field}", "It requires model_to_upload.")
        self._task(pipeline).check(parent, pipeline)

    def _stage(self, name: str) -> None:
        """Read the data of a pipeline, then submit its run."""
        pipeline = self._table.get(name)
        if pipeline is None or pipeline.end_time:
            return
        work = self._folder(pipeline)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self._launch(pipeline, self._task(pipeline).stage(pipeline, work))

    def _launch(self, pipeline: api.TrainingPipeline, staged: Any) -> None:
        with self._state.transaction():
            stored = self._table.get(pipeline.name)
            if stored and stored.end_time:  # cancelled in the meantime
                shutil.rmtree(self._folder(pipeline), ignore_errors=True)
                return
            self._task(pipeline).launch(pipeline, staged, self._folder(pipeline))
            self._table.put(pipeline.name, pipeline)
        self._follow_up(pipeline)

    def _staging_failed(self, name: str, error: status_pb2.Status) -> None:
        with self._state.transaction():
            pipeline = self._table.get(name)
            if pipeline and not pipeline.end_time:
                self._end(pipeline, api.PipelineState.PIPELINE_STATE_FAILED, error)

    def _end(self, pipeline: api.TrainingPipeline, state: Any, error: status_pb2.Status) -> None:
        """End a pipeline that has no run."""
        pipeline.state, pipeline.error = state, error
        pipeline.end_time = pipeline.update_time = timestamp(time.time())
        self._table.put(pipeline.name, pipeline)
        log.info("training pipeline %s: %s", pipeline.name, pipeline.state.name)
        shutil.rmtree(self._folder(pipeline), ignore_errors=True)

    def _follow_up(self, pipeline: api.TrainingPipeline) -> None:
        """Finish the pipeline when its run has ended, which may be at once."""
        run_id = self._task(pipeline).run_id(pipeline)
        self._unfinished[run_id] = pipeline.name
        self._on_run(run_id)

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
        if pipeline:
            shutil.rmtree(self._folder(pipeline), ignore_errors=True)

    def _finished(self, pipeline: api.TrainingPipeline, run: Run) -> api.TrainingPipeline:
        pipeline = _follow(pipeline, run)
        pipeline.end_time = timestamp(time.time())
        if run.state == "succeeded":
            try:
                self._task(pipeline).finish(pipeline, run)
            except RpcError as error:
                pipeline.state = api.PipelineState.PIPELINE_STATE_FAILED
                pipeline.error = {
                    "code": getattr(code_pb2, error.code.name),
                    "message": f"The model could not be uploaded. {error.message}",
                }
        return pipeline

    def _view(self, pipeline: api.TrainingPipeline) -> api.TrainingPipeline:
        run = None if pipeline.end_time else self._run(pipeline)
        return pipeline if run is None else _follow(pipeline, ending(run))

    def _run(self, pipeline: api.TrainingPipeline) -> Run | None:
        run_id = self._task(pipeline).run_id(pipeline)
        return self._runner.get(run_id) if run_id else None

    def _task(self, pipeline: api.TrainingPipeline) -> Task:
        return self._tasks[pipeline.training_task_definition]

    def _folder(self, pipeline: api.TrainingPipeline) -> Path:
        return self._work / names.last(pipeline.name)

    def _get(self, name: str) -> api.TrainingPipeline:
        return find(self._table, name, "trainingPipelines")


def _follow(pipeline: api.TrainingPipeline, run: Run) -> api.TrainingPipeline:
    """The pipeline with the state of its job's run."""
    pipeline.state = pipeline_state(run)
    follow(pipeline, run)
    return pipeline
