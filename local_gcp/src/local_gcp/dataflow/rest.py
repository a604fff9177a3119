"""Dataflow's JSON API v1b3: maps each path to a method of the gRPC services.

https://cloud.google.com/dataflow/docs/reference/rest
"""

from __future__ import annotations

import json
from typing import Any

import grpc
from google.cloud import dataflow_v1beta3 as api
from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from local_gcp.dataflow.jobs import Jobs
from local_gcp.emulated_parameters import refuse_parameter
from local_gcp.rest import HANDLERS, ApiError, not_emulated
from local_gcp.wire import RpcError, refuse_unread

_REGIONAL = "/v1b3/projects/{project_id}/locations/{location}"
_GLOBAL = "/v1b3/projects/{project_id}"

_METHODS = [
    ("POST", "/flexTemplates:launch", "launch_flex_template", api.LaunchFlexTemplateRequest),
    ("GET", "/jobs", "list_jobs", api.ListJobsRequest),
    ("GET", "/jobs/{job_id}", "get_job", api.GetJobRequest),
    ("PUT", "/jobs/{job_id}", "update_job", api.UpdateJobRequest),
    ("GET", "/jobs/{job_id}/messages", "list_job_messages", api.ListJobMessagesRequest),
]
"""(HTTP method, path, method of `Jobs`, request class)."""

_ERRORS = {
    grpc.StatusCode.INVALID_ARGUMENT: (400, "badRequest"),
    grpc.StatusCode.FAILED_PRECONDITION: (400, "failedPrecondition"),
    grpc.StatusCode.PERMISSION_DENIED: (403, "forbidden"),
    grpc.StatusCode.NOT_FOUND: (404, "notFound"),
    grpc.StatusCode.ALREADY_EXISTS: (409, "alreadyExists"),
    grpc.StatusCode.UNIMPLEMENTED: (501, "notImplemented"),
}


def rest_app(jobs: Jobs) -> Starlette:
    """The application for dataflow.googleapis.com."""
    routes = [
        _route(verb, base + path, getattr(jobs, method), request_class)
        for verb, path, method, request_class in _METHODS
        # A path without a region means us-central1, unless the query has one.
        for base in (_REGIONAL, _GLOBAL)
        if base is _REGIONAL or path.startswith("/jobs")
    ]
    routes.append(Route("/{path:path}", _not_emulated, methods=["GET", "POST", "PUT", "DELETE"]))
    return Starlette(routes=routes, exception_handlers=HANDLERS)


def _route(verb: str, path: str, method: Any, request_class: Any) -> Route:
    async def endpoint(http: Request) -> Response:
        body = await http.body()
        request = _parse(http, body, request_class)
        try:
            refuse_unread(request)
            answer = await run_in_threadpool(method, request)
        except RpcError as error:
            code, reason = _ERRORS[error.code]
            raise ApiError(code, error.message, reason) from None
        text = type(answer).to_json(
            answer, use_integers_for_enums=False, always_print_fields_with_no_presence=False
        )
        return Response(text, media_type="application/json")

    return Route(path, endpoint, methods=[verb])


def _parse(http: Request, body: bytes, request_class: Any) -> Any:
    """The request message from path, query and body; raises ApiError 400 for invalid fields."""
    message = request_class()
    try:
        content = json.loads(body or b"{}")
        if request_class is api.UpdateJobRequest:
            content = {"job": content}
        known = {_camel_case(name) for name in request_class.meta.fields}
        query = dict(http.query_params)
        for name in query.keys() - known:
            refuse_parameter(name, f"Dataflow ({http.method} {http.url.path})")
        query = {name: value for name, value in query.items() if name in known}
        json_format.ParseDict({**query, **content, **http.path_params}, request_class.pb(message))
    except (ValueError, TypeError, RecursionError, json_format.ParseError) as error:
        raise ApiError(400, f"Invalid JSON payload received: {error}", "badRequest") from None
    return message


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


async def _not_emulated(http: Request) -> Response:
    raise not_emulated(f"{http.method} https://dataflow.googleapis.com{http.url.path}")
