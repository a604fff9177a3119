"""PredictionService over REST: POST /v1/projects/P/locations/L/endpoints/E:predict, :rawPredict
and :explain.

Requests have their own threads: a slow model, or one that reads from Cloud Storage, does not block
the other services of this server.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local_gcp.regions import NoSuchRegionError
from local_gcp.vertex.endpoints import values
from local_gcp.vertex.endpoints.prediction import LARGEST_REQUEST, Predictions, check_size
from local_gcp.wire import RpcError, as_rpc_error, not_emulated, refuse_unread

log = logging.getLogger(__name__)

THREADS = 128
_NAME = re.compile(r"(?P<endpoint>projects/[^/]+/locations/[^/]+/endpoints/[^/:]+):(?P<verb>\w+)")
_HTTP = {
    "CANCELLED": 499,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
"""https://cloud.google.com/apis/design/errors#handling_errors"""


def rest_app(predictions: Predictions) -> Starlette:
    """The application for the hosts of Vertex AI."""
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="predict")
    verbs: dict[str, Callable[[str, bytes, str], Response]] = {
        "predict": lambda name, body, kind: _predict(predictions, name, _json(body, kind)),
        "explain": lambda name, body, kind: _explain(predictions, name, _json(body, kind)),
        "rawPredict": lambda name, body, kind: _raw_predict(predictions, name, body, kind),
    }

    async def post(request: Request) -> Response:
        path = request.path_params["name"]
        match = _NAME.fullmatch(path)
        verb = verbs.get(match["verb"]) if match else None
        if not match or not verb:
            return await refuse(request)
        try:
            body = await _body(request)
        except RpcError as error:
            return _error(error)
        kind = request.headers.get("content-type", "")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(threads, _answer, verb, match["endpoint"], body, kind)

    async def refuse(request: Request) -> Response:
        what = f"{request.method} {request.url.path} over REST"
        hint = (
            "Use the gRPC client, the default of Google's libraries (of aiplatform.init() only if "
            "it is given a project)."
        )
        message = f"local_gcp does not emulate {what}. {hint}"
        return _error(RpcError(grpc.StatusCode.UNIMPLEMENTED, message))

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return Starlette(
        routes=[
            Route("/v1/{name:path}", post, methods=["POST"]),
            Route("/{rest:path}", refuse, methods=methods),
        ]
    )


def _answer(
    verb: Callable[[str, bytes, str], Response], name: str, body: bytes, kind: str
) -> Response:
    try:
        return verb(name, body, kind)
    except Exception as error:
        if not isinstance(error, RpcError):
            log.exception("REST prediction at %s failed", name)
        return _error(as_rpc_error(error, "this prediction"))


def _predict(predictions: Predictions, name: str, body: bytes) -> Response:
    answer = predictions.ask(name, read(body, ("instances", "parameters", "labels")))
    return JSONResponse({_camel(field): value for field, value in answer.items()})


def _explain(predictions: Predictions, name: str, body: bytes) -> Response:
    known = ("instances", "parameters", "explanationSpecOverride", "deployedModelId")
    request = api.ExplainRequest()
    try:
        json_format.ParseDict(read(body, known), api.ExplainRequest.pb(request))
    except json_format.ParseError as error:
        raise _invalid(f"Invalid JSON payload received. {error}") from None
    request.endpoint = name
    refuse_unread(request)
    answer = predictions.explain(request, _NoDeadline)
    return JSONResponse(json_format.MessageToDict(api.ExplainResponse.pb(answer)))


class _NoDeadline:
    """Replaces a gRPC context: a REST request has no deadline."""

    @staticmethod
    def time_remaining() -> None:
        return None


def _raw_predict(predictions: Predictions, name: str, body: bytes, kind: str) -> Response:
    answer, deployed = predictions.ask_raw(name, body, kind)
    return Response(
        answer.body,
        answer.status,
        headers={
            "Content-Type": answer.content_type or "application/octet-stream",
            "X-Vertex-AI-Endpoint-Id": name.rpartition("/")[2],
            "X-Vertex-AI-Deployed-Model-Id": deployed.id,
            "X-Vertex-AI-Model": deployed.model,
            "X-Vertex-AI-Model-Version-Id": deployed.model_version_id,
        },
    )


def _json(body: bytes, kind: str) -> bytes:
    """The body. Raises Google's error for a form, curl's default content type: Google reads it as
    parameters.
    """
    if kind.startswith("application/x-www-form-urlencoded"):
        name = body[:100].decode(errors="replace")
        raise _invalid(
            f"Invalid JSON payload received. Unknown name {json.dumps(name)}: Cannot bind query "
            "parameter. Field could not be found in request message. (local_gcp: send the header "
            "Content-Type: application/json.)"
        )
    return body


def read(body: bytes, known: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a request in JSON; INVALID_ARGUMENT with Google's message."""
    try:
        document = values.parse(body)
    except (ValueError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise _invalid(f"Invalid JSON payload received. {problem}") from None
    if not isinstance(document, dict):
        raise _invalid("Invalid JSON payload received. Root element must be a message.")
    for name in document:
        if name not in known:
            raise _invalid(
                f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            )
    if not isinstance(document.get("instances", []), list):
        raise _invalid('Invalid value at "instances": expected an array.')
    if document.pop("labels", None):
        raise not_emulated("the field labels of PredictRequest")
    return {"instances": [], **document}


async def _body(request: Request) -> bytes:
    """The body; if it is too large, reading stops with an error."""
    length = request.headers.get("content-length", "")
    if length.isdecimal():
        check_size(int(length))
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_REQUEST:
            check_size(len(content))
    return bytes(content)


def _error(error: RpcError) -> Response:
    status, name = _HTTP.get(error.code.name, 500), error.code.name
    if isinstance(error, NoSuchRegionError):
        status, name = 404, "NOT_FOUND"
    body = {"code": status, "message": error.message, "status": name}
    return JSONResponse({"error": body}, status)


def _invalid(message: str) -> RpcError:
    return RpcError(grpc.StatusCode.INVALID_ARGUMENT, message)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
