"""Dataflow as a service of local_gcp."""

from __future__ import annotations

from typing import Any

from local_gcp.dataflow.jobs import Jobs
from local_gcp.dataflow.rest import rest_app
from local_gcp.jobs.runner import Runner
from local_gcp.service import Context, Service
from local_gcp.state import State
from local_gcp.wire import ServiceHandler

_PACKAGE = "google.cloud.dataflow_v1beta3.services"


class Dataflow(Service):
    """Emulates dataflow.googleapis.com; `runner` runs its jobs, as it does Vertex AI's."""

    hosts = ("dataflow.googleapis.com",)

    def __init__(self, context: Context, state: State, runner: Runner):
        self._jobs = Jobs(state, runner, context.home.buckets, context.project)
        self.rest = rest_app(self._jobs)
        self.grpc_handlers = [
            ServiceHandler(f"{_PACKAGE}.{service}", self._jobs)
            for service in (
                "flex_templates_service",
                "jobs_v1_beta3",
                "messages_v1_beta3",
                "metrics_v1_beta3",
            )
        ]

    def jobs(self) -> list[dict[str, Any]]:
        return self._jobs.describe()
