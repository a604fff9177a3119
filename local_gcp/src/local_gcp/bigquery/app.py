"""The routes of BigQuery's REST API.

https://cloud.google.com/bigquery/docs/reference/rest. A route that is not in this table gives 501
with its name (routines, row access policies, IAM policies, reservations, transfers).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from local_gcp.emulated_parameters import Endpoint, taking
from local_gcp.json_types import checked
from local_gcp.rest import HANDLERS, ApiError, EncodedPath, json_object, not_emulated
from local_gcp.storage.call import Call, decoded

from .errors import BigQueryError
from .failures import as_bigquery_error
from .memory import patiently

_PROJECTS = "/projects"
_PROJECT = f"{_PROJECTS}/{{project}}"
_DATASETS = f"{_PROJECT}/datasets"
_DATASET = f"{_DATASETS}/{{dataset}}"
_TABLES = f"{_DATASET}/tables"
_TABLE = f"{_TABLES}/{{table}}"
_MODELS = f"{_DATASET}/models"
_MODEL = f"{_MODELS}/{{model}}"
_JOBS = f"{_PROJECT}/jobs"
_JOB = f"{_JOBS}/{{job}}"
_QUERIES = f"{_PROJECT}/queries"
_LOCATION = re.compile(r" was not found in location \S+$")
_ALL = ["GET", "POST", "PUT", "PATCH", "DELETE"]

_STATUS = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}

Handler = Callable[[Call], Mapping[str, Any] | None]


def bigquery_app(
    datasets: Any, tables: Any, tabledata: Any, models: Any, jobs: Any, queries: Any, uploads: Any
) -> ASGIApp:
    """The ASGI application over the given APIs."""

    def waiting(verb: str, path: str, name: str, handler: Endpoint) -> Route:
        return Route(path, taking(f"bigquery.{name}", handler), methods=[verb])

    def method(verb: str, path: str, name: str, function: Handler, message: str = "") -> Route:
        return waiting(verb, path, name, endpoint(function, message))

    upload = taking("bigquery.jobs.insert", uploads.insert)
    v2 = [
        method("GET", _PROJECTS, "projects.list", datasets.projects),
        method(
            "GET",
            f"{_PROJECT}/serviceAccount",
            "projects.getServiceAccount",
            datasets.service_account,
        ),
        method("GET", _DATASETS, "datasets.list", datasets.list),
        method("POST", _DATASETS, "datasets.insert", datasets.insert, "Dataset"),
        method("GET", _DATASET, "datasets.get", datasets.get),
        method("PATCH", _DATASET, "datasets.patch", datasets.patch, "Dataset"),
        method("PUT", _DATASET, "datasets.update", datasets.update, "Dataset"),
        method("DELETE", _DATASET, "datasets.delete", datasets.delete),
        method("GET", _TABLES, "tables.list", tables.list),
        method("POST", _TABLES, "tables.insert", tables.insert, "Table"),
        method("GET", _TABLE, "tables.get", tables.get),
        method("PATCH", _TABLE, "tables.patch", tables.patch, "Table"),
        method("PUT", _TABLE, "tables.update", tables.update, "Table"),
        method("DELETE", _TABLE, "tables.delete", tables.delete),
        method("GET", f"{_TABLE}/data", "tabledata.list", tabledata.list),
        method(
            "POST",
            f"{_TABLE}/insertAll",
            "tabledata.insertAll",
            tabledata.insert_all,
            "TableDataInsertAllRequest",
        ),
        method("GET", _MODELS, "models.list", models.list),
        method("GET", _MODEL, "models.get", models.get),
        method("PATCH", _MODEL, "models.patch", models.patch, "Model"),
        method("DELETE", _MODEL, "models.delete", models.delete),
        method("GET", _JOBS, "jobs.list", jobs.list),
        method("POST", _JOBS, "jobs.insert", jobs.insert, "Job"),
        waiting("GET", _JOB, "jobs.get", queries.get),
        method("POST", f"{_JOB}/cancel", "jobs.cancel", jobs.cancel),
        method("DELETE", f"{_JOB}/delete", "jobs.delete", jobs.delete),
        waiting("POST", _QUERIES, "jobs.query", queries.query),
        waiting("GET", f"{_QUERIES}/{{job}}", "jobs.getQueryResults", queries.results),
        # Needed here too: a mounted path without a route gives a plain 404 or 405.
        Route("/{path:path}", _refuse, methods=_ALL),
    ]
    routes = [
        Mount("/bigquery/v2", routes=v2),
        *(
            Route(f"{prefix}/bigquery/v2{_JOBS}", upload, methods=["POST", "PUT"])
            for prefix in ("/upload", "/resumable/upload")
        ),
        Route("/{path:path}", _refuse, methods=_ALL),
    ]
    handlers = {**HANDLERS, BigQueryError: on_bigquery_error}
    return EncodedPath(Starlette(routes=routes, exception_handlers=handlers))


def endpoint(function: Handler, message: str = "") -> Callable[[Request], Awaitable[Response]]:
    """Starlette endpoint for `function`, which returns JSON and runs in a thread, since it blocks.

    None becomes status 204. `message`: the body's type.
    """

    async def handle(request: Request) -> Response:
        try:
            return await answer(function, await call_of(request, message))
        except BigQueryError as error:
            # A query searches one location; the id alone identifies a resource.
            error.message = _LOCATION.sub("", error.message)
            raise

    return handle


async def call_of(request: Request, message: str = "") -> Call:
    """The request as a Call, its body parsed as `message`."""
    body = json_object(await request.body())
    if message:
        body = checked(body, message, "bigquery")
    return Call(**decoded(request), body=body)


async def answer(function: Handler, call: Call) -> Response:
    """Call `function`, and return its result as a response."""
    result = await run_in_threadpool(_guarded, function, call)
    if result is None:
        return Response(status_code=204)
    headers = {"etag": result["etag"]} if isinstance(result.get("etag"), str) else None
    return JSONResponse(result, headers=headers)


def _guarded(function: Handler, call: Call) -> Mapping[str, Any] | None:
    """Call `function`; its unexpected errors become BigQuery's."""
    try:
        return patiently(lambda: function(call))
    except (ApiError, BigQueryError):
        raise
    except Exception as error:
        raise as_bigquery_error(error) from error


async def wait_for(done: Any, seconds: float) -> bool:
    """Return whether the concurrent future is done within `seconds`; no thread waits."""
    future = asyncio.wrap_future(done)
    finished, _ = await asyncio.wait([future], timeout=max(0.0, seconds))
    return bool(finished)


async def on_bigquery_error(request: Request, error: Exception) -> Response:
    """The error in the format of Google's JSON APIs."""
    assert isinstance(error, BigQueryError)
    return JSONResponse({"error": error_json(error)}, error.status)


def error_json(error: BigQueryError) -> dict[str, Any]:
    """The member `error` of an error response."""
    first = {"message": error.message, "domain": "global", "reason": error.reason}
    if error.location:
        first |= {"location": error.location, "locationType": "other"}
    return {
        "code": error.status,
        "message": error.message,
        "errors": [first],
        "status": _STATUS.get(error.status, "UNKNOWN"),
    }


async def _refuse(request: Request) -> Response:
    raise not_emulated(f"{request.method} {request.url.path} of BigQuery")
