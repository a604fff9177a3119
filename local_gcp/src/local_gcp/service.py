"""The interface of a service, which Storage, Vertex AI, Dataflow etc. implement."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import grpc
from starlette.types import ASGIApp

from local_gcp.home import Endpoints, Home


@dataclasses.dataclass(frozen=True)
class Context:
    """The arguments of every service."""

    home: Home
    project: str
    endpoints: Endpoints
    environment: Mapping[str, str]
    """The client environment (`local-gcp env`): give it to every process of a job."""


class Service:
    """Base of all services. Override what applies; every default means "none"."""

    hosts: Sequence[str] = ()
    """Patterns (fnmatch) of hosts that `rest` serves, e.g. "*-aiplatform.googleapis.com"; with a
    path where a host is shared, e.g. "www.googleapis.com/oauth2/*". The gateway accepts all of
    *.googleapis.com; a host in no list gives 501 with its name."""

    rest: ASGIApp | None = None
    """Answers HTTP/1.1 requests to `hosts`. Raise `rest.ApiError` for Google's error format."""

    grpc_handlers: Sequence[grpc.GenericRpcHandler] = ()
    """Handlers of the gRPC server; a method without a handler gives UNIMPLEMENTED."""

    def start(self) -> None:
        """Recover state and start threads. Runs before `up` reports healthy; may raise."""

    def stop(self) -> None:
        """Stop: end running jobs, close files. Not called when the process is killed."""

    def jobs(self) -> list[dict[str, Any]]:
        """Return this service's part of `jobs` in `local-gcp status --json`."""
        return []

    def preempt(self, job: str) -> bool:
        """Preempt the machine of `job` (resource name or its last part); False if unknown."""
        return False

    def fail(self, job: str) -> bool:
        """End a running `job` by an error of Google's own; False if there is none that runs."""
        return False
