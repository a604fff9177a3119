"""The interface between training pipelines and their tasks, and the task of custom training.

A task makes a run from the pipeline's inputs and data, and a model from a successful run. See
`CustomTask` below and `automl.task.AutoMlTask`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format

from local_gcp import names
from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.jobs.run import Run
from local_gcp.vertex import validation
from local_gcp.vertex.custom_jobs import CustomJobs
from local_gcp.vertex.datasets.dataset_service import Datasets
from local_gcp.vertex.registry import Registry
from local_gcp.vertex.tuning.space import as_text
from local_gcp.wire import not_emulated

CUSTOM_TASK = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
FIELD = "training_pipeline"
_JOB = "backingCustomJob"


class Task(Protocol):
    """A kind of training. Methods may raise RpcError."""

    def check(self, parent: str, pipeline: api.TrainingPipeline) -> None:
        """Refuse a pipeline that cannot run, before it is stored."""

    def answered(self, pipeline: api.TrainingPipeline) -> dict[str, Any]:
        """The checked training_task_inputs in the form of Vertex AI's answers."""

    def stage(self, pipeline: api.TrainingPipeline, work: Path) -> Any:
        """Read the pipeline's dataset to files in `work`; the result is passed to `launch`.

        May take long, and is repeated after a kill. Only for a pipeline with a dataset.
        """

    def launch(self, pipeline: api.TrainingPipeline, staged: Any, work: Path) -> None:
        """Submit the run, in a transaction of the caller; may complete the pipeline's fields."""

    def run_id(self, pipeline: api.TrainingPipeline) -> str | None:
        """Id of the run, None before `launch`."""

    def finish(self, pipeline: api.TrainingPipeline, run: Run) -> None:
        """Upload the model of a run that has succeeded, in a transaction of the caller."""


def inputs(pipeline: api.TrainingPipeline) -> Any:
    """training_task_inputs as plain values; whole numbers are floats, as Value has them."""
    return json_format.MessageToDict(type(pipeline).pb(pipeline).training_task_inputs)


class CustomTask:
    """A CustomJobSpec: a CustomJob (`backingCustomJob`), and a model from its files."""

    def __init__(self, custom_jobs: CustomJobs, registry: Registry):
        self._custom_jobs, self._registry = custom_jobs, registry

    def check(self, parent: str, pipeline: api.TrainingPipeline) -> None:
        field = f"{FIELD}.training_task_inputs"
        spec = _spec(pipeline, field)
        validation.check_job_spec(spec, field)
        if "input_data_config" in pipeline:
            raise not_emulated(
                f"{FIELD}.input_data_config of a custom training", "Pass the address of the data."
            )
        if "model_to_upload" in pipeline:
            model = pipeline.model_to_upload
            where = f"{FIELD}.model_to_upload"
            self._registry.check(parent, model, pipeline.model_id, pipeline.parent_model, where)
            if not model.artifact_uri and not spec.base_output_directory.output_uri_prefix:
                raise invalid_field(
                    f"{field}.base_output_directory",
                    f"{REQUIRED} An uploaded model has the files below BASE/model.",
                )

    def answered(self, pipeline: api.TrainingPipeline) -> dict[str, Any]:
        spec = _spec(pipeline, f"{FIELD}.training_task_inputs")
        return json_format.MessageToDict(api.CustomJobSpec.pb(spec))

    def stage(self, pipeline: api.TrainingPipeline, work: Path) -> None:
        raise AssertionError("`check` refuses a custom training with a dataset")

    def launch(self, pipeline: api.TrainingPipeline, staged: None, work: Path) -> None:
        spec = _spec(pipeline, f"{FIELD}.training_task_inputs")
        if "model_to_upload" in pipeline and not pipeline.model_to_upload.artifact_uri:
            base = spec.base_output_directory.output_uri_prefix.rstrip("/")
            pipeline.model_to_upload.artifact_uri = f"{base}/model"
        job = api.CustomJob(
            display_name=f"{pipeline.display_name[:100]}-custom-job",
            job_spec=spec,
            encryption_spec=pipeline.encryption_spec or None,
        )
        parent = pipeline.name.partition("/trainingPipelines/")[0]
        job = self._custom_jobs.create(parent, job)
        pipeline.training_task_metadata = {_JOB: job.name}

    def run_id(self, pipeline: api.TrainingPipeline) -> str | None:
        metadata = pipeline.training_task_metadata
        return names.last(metadata[_JOB]) if metadata else None

    def finish(self, pipeline: api.TrainingPipeline, run: Run) -> None:
        if "model_to_upload" in pipeline:
            parent = pipeline.name.partition("/trainingPipelines/")[0]
            target = self._registry.target(parent, pipeline.model_id, pipeline.parent_model)
            pipeline.model_to_upload = self._registry.upload(
                target, pipeline.model_to_upload, training_pipeline=pipeline.name
            )


def find_dataset(datasets: Datasets, pipeline: api.TrainingPipeline) -> api.Dataset:
    """The dataset of a pipeline, which has its name; INVALID_ARGUMENT or NOT_FOUND without one."""
    parent = pipeline.name.partition("/trainingPipelines/")[0]
    field = f"{FIELD}.input_data_config.dataset_id"
    number = pipeline.input_data_config.dataset_id
    if not number:
        raise invalid_field(field, REQUIRED)
    return datasets.find(f"{parent}/datasets/{number}", field)


def _spec(pipeline: api.TrainingPipeline, field: str) -> api.CustomJobSpec:
    spec = api.CustomJobSpec()
    try:
        sent = inputs(pipeline)
        _write_numbers_as_text(sent)
        json_format.ParseDict(sent, api.CustomJobSpec.pb(spec))
    except (TypeError, AttributeError, json_format.ParseError) as error:
        raise invalid_field(field, str(error)) from None
    return spec


def _write_numbers_as_text(inputs: Any) -> None:
    """Numbers given to the SDK as arguments have become doubles in a Value."""
    for pool in inputs.get("worker_pool_specs") or inputs.get("workerPoolSpecs") or []:
        for name in ("container_spec", "containerSpec", "python_package_spec", "pythonPackageSpec"):
            task = pool.get(name) or {}
            if "args" in task:
                task["args"] = [as_text(argument) for argument in task["args"]]
