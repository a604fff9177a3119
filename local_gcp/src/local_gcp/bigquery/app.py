"""The routes of BigQuery's REST API.

https://cloud.google.com/bigquery/docs/reference/rest. A route that is not in this table gives 501
with its name (routines, row access policies, IAM policies, reservations, transfers).
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import duckdb
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from local_gcp.json_types import checked
from local_gcp.rest import HANDLERS, ApiError, EncodedPath, json_object, not_emulated
from local_gcp.storage.call import Call, decoded

from .errors import BigQueryError
from .failures import as_bigquery_error

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
MEMORY_WAITS = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between the attempts of a request that finds no memory."""
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
    get, post, delete = ["GET"], ["POST"], ["DELETE"]
    v2 = [
        Route(_PROJECTS, endpoint(datasets.projects), methods=get),
        Route(f"{_PROJECT}/serviceAccount", endpoint(datasets.service_account), methods=get),
        Route(_DATASETS, endpoint(datasets.list), methods=get),
        Route(_DATASETS, endpoint(datasets.insert, "Dataset"), methods=post),
        Route(_DATASET, endpoint(datasets.get), methods=get),
        Route(_DATASET, endpoint(datasets.patch, "Dataset"), methods=["PATCH"]),
        Route(_DATASET, endpoint(datasets.update, "Dataset"), methods=["PUT"]),
        Route(_DATASET, endpoint(datasets.delete), methods=delete),
        Route(_TABLES, endpoint(tables.list), methods=get),
        Route(_TABLES, endpoint(tables.insert, "Table"), methods=post),
        Route(_TABLE, endpoint(tables.get), methods=get),
        Route(_TABLE, endpoint(tables.patch, "Table"), methods=["PATCH"]),
        Route(_TABLE, endpoint(tables.update, "Table"), methods=["PUT"]),
        Route(_TABLE, endpoint(tables.delete), methods=delete),
        Route(f"{_TABLE}/data", endpoint(tabledata.list), methods=get),
        Route(
            f"{_TABLE}/insertAll",
            endpoint(tabledata.insert_all, "TableDataInsertAllRequest"),
            methods=post,
        ),
        Route(_MODELS, endpoint(models.list), methods=get),
        Route(_MODEL, endpoint(models.get), methods=get),
        Route(_MODEL, endpoint(models.patch, "Model"), methods=["PATCH"]),
        Route(_MODEL, endpoint(models.delete), methods=delete),
        Route(_JOBS, endpoint(jobs.list), methods=get),
        Route(_JOBS, endpoint(jobs.insert, "Job"), methods=post),
        Route(_JOB, queries.get, methods=get),
        Route(f"{_JOB}/cancel", endpoint(jobs.cancel), methods=post),
        Route(f"{_JOB}/delete", endpoint(jobs.delete), methods=delete),
        Route(_QUERIES, queries.query, methods=post),
        Route(f"{_QUERIES}/{{job}}", queries.results, methods=get),
        # Needed here too: a mounted path without a route gives a plain 404 or 405.
        Route("/{path:path}", _refuse, methods=_ALL),
    ]
    routes = [
        Mount("/bigquery/v2", routes=v2),
        *(
            Route(f"{prefix}/bigquery/v2{_JOBS}", uploads.insert, methods=["POST", "PUT"])
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
    """Call `function`; while the queries of others take all memory, again after their ends.

    A request that fails has changed nothing: its transaction is rolled back.
    """
    for seconds in (*MEMORY_WAITS, None):
        try:
            return function(call)
        except (ApiError, BigQueryError):
            raise
        except duckdb.OutOfMemoryException as error:
            if seconds is None:
                raise BigQueryError(
                    "backendError",
                    f"Other queries take all of local_gcp's memory for BigQuery; retry: {error}",
                ) from error
            time.sleep(seconds)
        except Exception as error:
            raise as_bigquery_error(error) from error
    raise AssertionError("unreachable")


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
