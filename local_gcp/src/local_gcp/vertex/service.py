"""Vertex AI as a service of local_gcp: its gRPC handlers, and its part of status and of faults."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from local_gcp import names
from local_gcp.jobs.machine import Machine
from local_gcp.jobs.runner import Runner
from local_gcp.operations import Operations
from local_gcp.service import Context, Service
from local_gcp.state import State
from local_gcp.variants import Variants
from local_gcp.vertex import quota_usage
from local_gcp.vertex.automl.task import IMAGE_TASK, TABULAR_TASK, ImageTask, TabularTask
from local_gcp.vertex.background import Background
from local_gcp.vertex.batch_prediction.batch_jobs import BatchPredictionJobs
from local_gcp.vertex.contexts import Contexts
from local_gcp.vertex.custom_jobs import CustomJobs
from local_gcp.vertex.datasets.dataset_service import Datasets
from local_gcp.vertex.endpoints.endpoint_service import Endpoints
from local_gcp.vertex.endpoints.fleet import Fleet
from local_gcp.vertex.endpoints.prediction import Predictions
from local_gcp.vertex.endpoints.request_log import RequestLog
from local_gcp.vertex.endpoints.rest import rest_app
from local_gcp.vertex.endpoints.usage import Usage
from local_gcp.vertex.evaluations import Evaluations
from local_gcp.vertex.models import Models
from local_gcp.vertex.pipelines import Pipelines, Task
from local_gcp.vertex.registry import Registry
from local_gcp.vertex.tables import Tables
from local_gcp.vertex.training import CUSTOM_TASK, CustomTask
from local_gcp.vertex.tuning.tuning_jobs import TuningJobs
from local_gcp.wire import ServiceHandler

_SERVICES = "google.cloud.aiplatform_v1.services"


class Vertex(Service):
    """Jobs, training pipelines, datasets, the model registry, endpoints and their operations.

    `runner` also runs the jobs of other services (Dataflow), whose records go to the same `state`.
    `warehouse`: BigQuery's tables, None when BigQuery is not emulated.
    """

    hosts = ("aiplatform.googleapis.com", "*-aiplatform.googleapis.com")

    def __init__(self, context: Context, warehouse: Any = None):
        home = context.home
        home.create()
        folder = home.root / "vertex"
        variants = Variants.from_environment()
        self.state = State(home.state, variants.list_lag)
        options = dataclasses.asdict(Machine.from_environment())
        self.runner = Runner(home, self.state, context.environment, **options)
        self.background = Background()
        self.operations = Operations(self.state, variants)
        self.custom_jobs = CustomJobs(self.state, self.runner)
        self.tuning_jobs = TuningJobs(self.state, self.runner)
        self.registry = Registry(self.state, home.buckets, folder / "models", variants)
        self.models = Models(self.state, self.operations, self.registry)
        self.evaluations = Evaluations(self.state, self.registry)
        self.contexts = Contexts(self.state, self.operations)
        self.datasets = Datasets(self.state, self.operations, self.background, home.buckets)
        tables = Tables(home.buckets, warehouse)
        automl = (
            self.runner,
            self.registry,
            self.evaluations,
            self.datasets,
            tables,
            folder / "models",
        )
        tasks: dict[str, Task] = {
            CUSTOM_TASK: CustomTask(self.custom_jobs, self.registry),
            TABULAR_TASK: TabularTask(*automl),
            IMAGE_TASK: ImageTask(*automl),
        }
        self.pipelines = Pipelines(
            self.state, self.runner, self.operations, self.background, tasks, folder / "pipelines"
        )
        self.batch_predictions = BatchPredictionJobs(
            self.state,
            self.runner,
            self.operations,
            self.background,
            self.registry,
            tables,
            folder / "batch_predictions",
            folder / "models",
        )
        self.fleet = Fleet(home, self.state, context.environment, self.runner.machine)
        self.endpoints = Endpoints(
            self.state, self.operations, self.registry, self.fleet, variants, warehouse
        )
        self.usage = Usage(self.state)
        self.request_log = RequestLog(warehouse)
        predictions = Predictions(self.endpoints, self.fleet, self.usage, self.request_log)
        self.rest = rest_app(predictions)
        jobs = (self.custom_jobs, self.tuning_jobs, self.batch_predictions)
        self.grpc_handlers = (
            ServiceHandler(f"{_SERVICES}.job_service", *jobs),
            ServiceHandler(f"{_SERVICES}.pipeline_service", self.pipelines),
            ServiceHandler(f"{_SERVICES}.model_service", self.models, self.evaluations),
            ServiceHandler(f"{_SERVICES}.dataset_service", self.datasets),
            ServiceHandler(f"{_SERVICES}.metadata_service", self.contexts),
            ServiceHandler(f"{_SERVICES}.endpoint_service", self.endpoints),
            ServiceHandler(f"{_SERVICES}.prediction_service", predictions),
            ServiceHandler("google.longrunning.operations", self.operations),
        )

    def start(self) -> None:
        self.runner.start()
        self.tuning_jobs.start()
        self.pipelines.start()
        self.datasets.start()
        self.batch_predictions.start()
        self.registry.start()
        self.usage.start()
        self.request_log.start()
        self.endpoints.start()
        self.operations.run()

    def stop(self) -> None:
        self.operations.stop()
        self.fleet.stop()
        self.background.stop()
        self.tuning_jobs.stop()
        self.runner.stop()
        self.usage.stop()
        self.request_log.stop()
        self.state.close()

    def jobs(self) -> list[dict[str, Any]]:
        parts = (
            self.custom_jobs,
            self.tuning_jobs,
            self.pipelines,
            self.batch_predictions,
            self.endpoints,
        )
        jobs = [job for part in parts for job in part.status()]
        return sorted(jobs, key=lambda job: job["create_time"])

    def quotas_in_use(self) -> dict[tuple[str, str], int]:
        """vCPUs and GPUs that trainings have, by region and quota."""
        found: Counter[tuple[str, str]] = Counter()
        for jobs in (self.custom_jobs, self.tuning_jobs):
            for region, spec in jobs.machines():
                for metric, amount in quota_usage.of(spec).items():
                    found[region, metric] += amount
        return found

    def preempt(self, job: str) -> bool:
        return self.custom_jobs.preempt(job) or self.tuning_jobs.preempt(job)

    def fail(self, job: str) -> bool:
        return self.runner.fail(names.last(job)) or self.tuning_jobs.fail(job)
