"""Shared by all REST services: JSON bodies, Google's error format, host dispatch, encoded paths."""

from __future__ import annotations

import fnmatch
import json
import logging
from collections.abc import Sequence
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

log = logging.getLogger(__name__)

_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    416: "OUT_OF_RANGE",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
}


class ApiError(Exception):
    """An error in the format of Google's JSON APIs.

    `code` is the HTTP status, `reason` the machine-readable cause that clients look at
    (https://cloud.google.com/storage/docs/json_api/v1/status-codes).
    """

    def __init__(self, code: int, message: str, reason: str = "invalid"):
        super().__init__(message)
        self.code, self.message, self.reason = code, message, reason

    def response(self) -> Response:
        return JSONResponse({"error": self.json()}, self.code)

    def json(self, status: bool = True) -> dict[str, Any]:
        """The response's `error`; Cloud Storage's has no `status`."""
        first = {"message": self.message, "domain": "global", "reason": self.reason}
        error = {"code": self.code, "message": self.message, "errors": [first]}
        return error | ({"status": _STATUS.get(self.code, "UNKNOWN")} if status else {})


def not_emulated(what: str) -> ApiError:
    """The error 501 for a feature of Google Cloud that local_gcp lacks."""
    message = f"local_gcp does not emulate {what}."
    log.warning("501: %s", message)
    return ApiError(501, message, "notImplemented")


def check_unchanged(name: str, given: Any, own: Any) -> None:
    """Raise ApiError 501 if a request gives a field that cannot change another value than its
    own.
    """
    if given not in (None, own):
        raise not_emulated(f"a change of {name} from {own!r} to {given!r}")


def internal_error(error: Exception) -> str:
    """Return the message for an error of local_gcp's own, whose traceback the caller logs."""
    return (
        f"{type(error).__name__}: {error}. This is a gap in local_gcp, and no error of Google "
        "Cloud's: another attempt ends alike; server.log has the traceback"
    )


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object in a request's body, {} if it is empty; else raises ApiError 400."""
    if not body.strip():
        return {}
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
        # An unpaired surrogate is valid in JSON, but can be neither stored nor sent.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        message = f"Parse error: the request body is not JSON: {error}."
        raise ApiError(400, message, "parseError") from None
    if not isinstance(value, dict):
        raise ApiError(400, "Parse error: the request body is not a JSON object.", "parseError")
    return value


def unknown_field(name: str, path: str = "") -> ApiError:
    """Google's error for a field that a message at `path` of the body does not have."""
    at = f" at '{path}'" if path else ""
    text = f'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.'
    return ApiError(400, text, "badRequest")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def as_api_error(request: Request, error: Exception) -> ApiError:
    """The error to report for one of any kind, which ended `request`.

    One of local_gcp's own is 501 with its text: clients retry 500, which would blame Google Cloud
    for what it does and local_gcp does not.
    """
    if isinstance(error, ApiError):
        return error
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return not_emulated(f"{request.method} {request.url.path}: {internal_error(error)}")


async def on_error(request: Request, error: Exception) -> Response:
    """Exception handler for Starlette applications, see `HANDLERS`."""
    return as_api_error(request, error).response()


HANDLERS = {ApiError: on_error, Exception: on_error}
"""`exception_handlers` of a service's Starlette application."""


class HostDispatch:
    """ASGI application that picks a service's application by the request's host (and path).

    `routes`: (pattern, application); a pattern is "host" or "host/path*", fnmatch's rules; the
    first that matches is taken.
    """

    def __init__(self, routes: Sequence[tuple[str, ASGIApp]]):
        self.routes = [(p if "/" in p else f"{p}/*", app) for p, app in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host", "").partition(":")[0].lower()
        address = host + scope["path"]
        for pattern, app in self.routes:
            if fnmatch.fnmatchcase(address, pattern):
                return await app(scope, receive, send)
        error = not_emulated(f"{scope['method']} https://{address}")
        return await error.response()(scope, receive, send)


class EncodedPath:
    """Route on the encoded path, so that an encoded slash (%2F) stays inside a name.

    Endpoints below get path parameters percent-encoded and decode them themselves.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if "raw_path" in scope:
            scope = {**scope, "path": scope["raw_path"].decode("ascii")}
        await self.app(scope, receive, send)
