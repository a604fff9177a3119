"""The AutoML tasks of training pipelines: tables and images, each a run of train.py.

The run has the pipeline's id. Its program writes the model to a folder `models/PIPELINE`; the task
uploads it with its description and evaluation.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

from google.cloud import aiplatform_v1 as api

from local_gcp import names
from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.jobs.program import LEARNED, own_program
from local_gcp.jobs.run import Run
from local_gcp.jobs.runner import Runner
from local_gcp.project import project_id
from local_gcp.vertex import gcs, splits, tables
from local_gcp.vertex.automl import inputs
from local_gcp.vertex.automl.result import EVALUATED, Result
from local_gcp.vertex.datasets import sets
from local_gcp.vertex.datasets.dataset_service import IMAGE, TABULAR, Datasets
from local_gcp.vertex.datasets.items import annotation_spec
from local_gcp.vertex.evaluations import Evaluations
from local_gcp.vertex.registry import Registry
from local_gcp.vertex.tables import Tables
from local_gcp.vertex.training import FIELD, find_dataset
from local_gcp.vertex.training import inputs as task_inputs
from local_gcp.wire import already_exists, failed_precondition

_DEFINITIONS = "gs://google-cloud-aiplatform/schema/trainingjob/definition"
TABULAR_TASK = f"{_DEFINITIONS}/automl_tabular_1.0.0.yaml"
IMAGE_TASK = f"{_DEFINITIONS}/automl_image_classification_1.0.0.yaml"
_PREDICT = "gs://google-cloud-aiplatform/schema/predict"
_OVERTIME = 120.0
"""Seconds after the budget, for reading the data and evaluating, before a run is ended by force."""
_MOST_DESCRIPTION = 4096


class AutoMlTask:
    """Base of both tasks. `folder`: that of the models' files."""

    kind: str
    """Kind of dataset: its metadata_schema_uri."""
    what: str
    slices: tuple[str, ...] = ()
    """Dimensions of the slices that Google evaluates, too."""

    def __init__(
        self,
        runner: Runner,
        registry: Registry,
        evaluations: Evaluations,
        datasets: Datasets,
        tables: Tables,
        folder: Path,
    ):
        self._runner, self._registry, self._evaluations = runner, registry, evaluations
        self._datasets, self._tables, self._folder = datasets, tables, folder

    def check(self, parent: str, pipeline: api.TrainingPipeline) -> None:
        if "input_data_config" not in pipeline:
            raise invalid_field(f"{FIELD}.input_data_config", REQUIRED)
        dataset = find_dataset(self._datasets, pipeline)
        if dataset.metadata_schema_uri != self.kind:
            raise invalid_field(
                f"{FIELD}.input_data_config.dataset_id", f"It is not a dataset of {self.what}."
            )
        config = pipeline.input_data_config
        sets.check(config, dataset, f"{FIELD}.input_data_config")
        if "model_to_upload" not in pipeline:
            raise invalid_field(f"{FIELD}.model_to_upload", REQUIRED)
        self._registry.check(
            parent,
            pipeline.model_to_upload,
            pipeline.model_id,
            pipeline.parent_model,
            f"{FIELD}.model_to_upload",
            container=False,
        )
        self.inputs(pipeline)

    def answered(self, pipeline: api.TrainingPipeline) -> dict[str, Any]:
        return inputs.answered(task_inputs(pipeline))

    def launch(self, pipeline: api.TrainingPipeline, staged: Any, work: Path) -> None:
        sent = self.inputs(pipeline)
        config = {
            "task": self.task,
            "inputs": dataclasses.asdict(sent),
            "data": staged,
            "output": str(self._output(pipeline)),
        }
        file = work / "config.json"
        file.write_text(json.dumps(config))
        module = "local_gcp.vertex.automl.train"
        timeout = sent.budget + _OVERTIME
        spec = own_program(module, str(file), timeout=timeout, preload=LEARNED)
        self._runner.submit(names.last(pipeline.name), spec)

    def run_id(self, pipeline: api.TrainingPipeline) -> str:
        return names.last(pipeline.name)

    def finish(self, pipeline: api.TrainingPipeline, _run: Run) -> None:
        result = self._result(pipeline)
        model = api.Model(pipeline.model_to_upload)
        own = f"{model.description}\n" if model.description else ""
        model.description = f"{own}{result.description}"[:_MOST_DESCRIPTION]
        model.model_source_info = {"source_type": api.ModelSourceInfo.ModelSourceType.AUTOML}
        self.describe(model, pipeline)
        parent = pipeline.name.partition("/trainingPipelines/")[0]
        target = self._registry.target(parent, pipeline.model_id, pipeline.parent_model)
        uploaded = self._registry.upload(target, model, training_pipeline=pipeline.name)
        pipeline.model_to_upload = uploaded
        pipeline.training_task_metadata = self.metadata(result) | self.export(pipeline, model)
        if result.metrics is not None:
            found = (result.metrics, result.attributions, self.slices)
            self._evaluations.put(uploaded, *found)

    def export(self, _pipeline: api.TrainingPipeline, _model: api.Model) -> dict[str, Any]:
        """Export the evaluated test rows to the configured table; returns metadata naming it."""
        return {}

    def _result(self, pipeline: api.TrainingPipeline) -> Result:
        return Result.read(self._output(pipeline))

    def _output(self, pipeline: api.TrainingPipeline) -> Path:
        return self._folder / names.last(pipeline.name)


class TabularTask(AutoMlTask):
    """Classification and regression over a table."""

    kind, what, task = TABULAR, "tables", "tabular"

    def inputs(self, pipeline: api.TrainingPipeline) -> inputs.TabularInputs:
        """The checked inputs."""
        return inputs.tabular(task_inputs(pipeline), f"{FIELD}.training_task_inputs")

    def stage(self, pipeline: api.TrainingPipeline, work: Path) -> dict[str, Any]:
        dataset, config = find_dataset(self._datasets, pipeline), pipeline.input_data_config
        parts = sets.split_table(self._tables, dataset, config, work)
        key = config.predefined_split.key if "predefined_split" in config else None
        left_out = [key] if key else []
        return {**{name: str(part) for name, part in parts.items()}, "left_out": left_out}

    def describe(self, model: api.Model, pipeline: api.TrainingPipeline) -> None:
        """Fields of a model of this kind."""
        kind = self.inputs(pipeline).prediction_type
        model.metadata_schema_uri = (
            "gs://google-cloud-aiplatform/schema/model/metadata/automl_tabular_1.0.0.yaml"
        )
        model.predict_schemata = {
            "prediction_schema_uri": f"{_PREDICT}/prediction/tabular_{kind}_1.0.0.yaml"
        }
        model.supported_input_storage_formats = ["jsonl", "csv", "bigquery"]
        model.supported_output_storage_formats = ["jsonl", "csv", "bigquery"]

    def export(self, pipeline: api.TrainingPipeline, model: api.Model) -> dict[str, Any]:
        config = self.inputs(pipeline).export
        if config is None:
            return {}
        field = f"{FIELD}.training_task_inputs.exportEvaluatedDataItemsConfig"
        uri = self._export_uri(pipeline, model, config["uri"], field)
        if config["uri"] and not config["override"] and self._tables.exists(uri, field):
            raise already_exists(uri)
        rows = self._output(pipeline) / EVALUATED
        self._tables.publish(uri, rows, field, create=not config["uri"])
        return {"evaluatedDataItemsBigqueryUri": uri}

    def _export_uri(
        self, pipeline: api.TrainingPipeline, model: api.Model, given: str, field: str
    ) -> str:
        dataset, table = tables.destination(given, field) if given else (None, None)
        if dataset is None:
            now = pipeline.create_time
            stamp = now.strftime("%Y_%m_%dT%H_%M_%S_") + f"{now.microsecond // 1000:03}Z"
            name = re.sub(r"[^A-Za-z0-9_]", "_", model.display_name)
            dataset = f"export_evaluated_examples_{name}_{stamp}"
        return f"bq://{project_id()}.{dataset}.{table or 'evaluated_examples'}"

    def metadata(self, result: Result) -> dict[str, Any]:
        """AutoMlTablesMetadata."""
        return {"trainCostMilliNodeHours": str(result.milli_node_hours)}


class ImageTask(AutoMlTask):
    """Classification of images."""

    kind, what, task = IMAGE, "images", "image"
    slices = ("annotationSpec",)

    def inputs(self, pipeline: api.TrainingPipeline) -> inputs.ImageInputs:
        """The checked inputs."""
        return inputs.image_classification(task_inputs(pipeline), f"{FIELD}.training_task_inputs")

    def stage(self, pipeline: api.TrainingPipeline, work: Path) -> dict[str, Any]:
        dataset = find_dataset(self._datasets, pipeline)
        items = self._datasets.items.of(dataset.name)
        assigned = sets.assign_items(items, pipeline.input_data_config)
        if not any(item.label and place == 0 for item, place in zip(items, assigned, strict=True)):
            raise failed_precondition("The split of the dataset leaves no image to train on.")
        return {
            "items": [
                {
                    "path": str(gcs.local_path(self._tables.buckets, item.uri)),
                    "label": item.label,
                    "set": splits.NAMES[place],
                }
                for item, place in zip(items, assigned, strict=True)
                if place != splits.IGNORED
            ],
            "ids": {
                item.label: annotation_spec(dataset.name, item.label)
                for item in items
                if item.label
            },
        }

    def describe(self, model: api.Model, _pipeline: api.TrainingPipeline) -> None:
        """Fields of a model of this kind."""
        model.metadata_schema_uri = (
            "gs://google-cloud-aiplatform/schema/model/metadata/"
            "automl_image_classification_1.0.0.yaml"
        )
        model.predict_schemata = {
            "instance_schema_uri": f"{_PREDICT}/instance/image_classification_1.0.0.yaml",
            "parameters_schema_uri": f"{_PREDICT}/params/image_classification_1.0.0.yaml",
            "prediction_schema_uri": f"{_PREDICT}/prediction/classification_1.0.0.yaml",
        }
        model.supported_input_storage_formats = ["jsonl", "file-list"]
        model.supported_output_storage_formats = ["jsonl"]

    def metadata(self, result: Result) -> dict[str, Any]:
        """AutoMlImageClassificationMetadata."""
        return {
            "costMilliNodeHours": str(result.milli_node_hours),
            "successfulStopReason": "MODEL_CONVERGED" if result.converged else "BUDGET_REACHED",
        }
