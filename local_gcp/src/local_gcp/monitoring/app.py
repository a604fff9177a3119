"""GET /v3/projects/P/timeSeries: projects.timeSeries.list.

https://cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.timeSeries/list
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local_gcp.monitoring import query, series
from local_gcp.project import PROJECT_NUMBER
from local_gcp.project_apis import facts
from local_gcp.project_apis.app import check_enabled
from local_gcp.rest import HANDLERS, ApiError, not_emulated
from local_gcp.vertex.endpoints.usage import Usage

PERMISSION = "monitoring.timeSeries.list"


Quotas = Callable[[], Mapping[tuple[str, str], int]]
"""Gives what is in use, by region and quota."""


def monitoring_app(project: str, file: Path, usage: Usage, quotas: Quotas) -> Starlette:
    """The application. file: HOME/project.json, which may take the right to read away."""

    async def time_series(request: Request) -> Response:
        known = facts.read(file)
        check_enabled(known, request.url.hostname or "")
        named = request.path_params["project"]
        if named not in (project, str(PROJECT_NUMBER)) or PERMISSION in known.missing_permissions:
            message = f"Permission {PERMISSION} denied (or the resource may not exist)."
            raise ApiError(403, message, "forbidden")
        requested = query.read(request.query_params)
        if requested.metric == query.QUOTA:
            found = series.of_quotas(requested, quotas(), project)
        else:
            found = series.of(requested, usage.between(requested.start, requested.end), project)
        return JSONResponse(series.page(found, requested))

    async def refuse(request: Request) -> Response:
        raise not_emulated(f"{request.method} https://{request.url.hostname}{request.url.path}")

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return Starlette(
        routes=[
            Route("/v3/projects/{project}/timeSeries", time_series, methods=["GET"]),
            Route("/{rest:path}", refuse, methods=methods),
        ],
        exception_handlers=HANDLERS,
    )
