"""local_gcp's own HTTP API on the plain port: health, status, faults. The rest is Storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from local_gcp import variants
from local_gcp.chaos.storm import Storm
from local_gcp.rest import HANDLERS, ApiError
from local_gcp.service import Context, Service


def admin_app(
    context: Context, services: Sequence[Service], storage: ASGIApp, storm: Storm
) -> Starlette:
    """/local_gcp/health, status, preempt and fail; every other path is `storage`."""

    async def health(_request: Request) -> JSONResponse:
        return JSONResponse({"healthy": True, "home": str(context.home.root), "pid": os.getpid()})

    def status(_request: Request) -> JSONResponse:  # not async: runs in a thread, jobs() may block
        return JSONResponse(describe(context, services, storm))

    def preempt(request: Request) -> JSONResponse:
        return strike(request, "preempted", lambda service, job: service.preempt(job))

    def fail(request: Request) -> JSONResponse:
        return strike(request, "failed", lambda service, job: service.fail(job))

    def strike(request: Request, done: str, fault: Callable[[Service, str], bool]) -> JSONResponse:
        job = request.query_params.get("job", "")
        if not any(fault(service, job) for service in services):
            raise ApiError(404, f"No running job {job!r} that can be {done}.", "notFound")
        return JSONResponse({done: job})

    return Starlette(
        routes=[
            Route("/local_gcp/health", health),
            Route("/local_gcp/status", status),
            Route("/local_gcp/preempt", preempt, methods=["POST"]),
            Route("/local_gcp/fail", fail, methods=["POST"]),
            Mount("", storage),
        ],
        exception_handlers=HANDLERS,
    )


def describe(context: Context, services: Sequence[Service], storm: Storm) -> dict[str, Any]:
    """The status document."""
    return {
        "project": context.project,
        "healthy": True,
        "home": str(context.home.root),
        "endpoints": {
            "proxy": context.endpoints.proxy_url,
            "http": context.endpoints.http_url,
        },
        "variants": os.environ.get(variants.VARIABLE, ""),
        "storm": storm.describe(),
        "jobs": [job for service in services for job in service.jobs()],
    }
