"""Vertex AI as a service of local_gcp: its gRPC handlers, and its part of status and preemption."""

from __future__ import annotations

import dataclasses
from typing import Any

from local_gcp.operations import Operations
from local_gcp.service import Context, Service
from local_gcp.state import State
from local_gcp.vertex.jobs import CustomJobs
from local_gcp.vertex.machine import Machine
from local_gcp.vertex.models import Models
from local_gcp.vertex.pipelines import Pipelines
from local_gcp.vertex.runner import Runner
from local_gcp.vertex.tuning.service import TuningJobs
from local_gcp.wire import Played

_SERVICES = "google.cloud.aiplatform_v1.services"


class Vertex(Service):
    """JobService, training pipelines, the model registry and long-running operations.

    `runner` also runs the jobs of other services (Dataflow), whose records go to the same `state`.
    """

    hosts = ("aiplatform.googleapis.com", "*-aiplatform.googleapis.com")

    def __init__(self, context: Context):
        context.home.create()
        self.state = State(context.home.state)
        options = dataclasses.asdict(Machine.from_environment())
        self.runner = Runner(context.home, self.state, context.environment, **options)
        self.operations = Operations(self.state)
        self.custom_jobs = CustomJobs(self.state, self.runner, self.operations)
        self.tuning_jobs = TuningJobs(self.state, self.runner, self.operations)
        self.models = Models(self.state, self.operations, context.home.buckets)
        self.pipelines = Pipelines(
            self.state, self.runner, self.operations, self.custom_jobs, self.models
        )
        self.grpc_handlers = (
            Played(f"{_SERVICES}.job_service", self.custom_jobs, self.tuning_jobs),
            Played(f"{_SERVICES}.pipeline_service", self.pipelines),
            Played(f"{_SERVICES}.model_service", self.models),
            Played("google.longrunning.operations", self.operations),
        )

    def start(self) -> None:
        self.runner.start()
        self.tuning_jobs.start()
        self.pipelines.start()

    def stop(self) -> None:
        self.tuning_jobs.stop()
        self.runner.stop()
        self.state.close()

    def jobs(self) -> list[dict[str, Any]]:
        jobs = [*self.custom_jobs.status(), *self.tuning_jobs.status()]
        return sorted(jobs, key=lambda job: job["create_time"])

    def preempt(self, job: str) -> bool:
        return self.custom_jobs.preempt(job) or self.tuning_jobs.preempt(job)
