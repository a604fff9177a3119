"""Batch requests: up to 100 API calls in one multipart/mixed body.

https://cloud.google.com/storage/docs/batch
"""

from __future__ import annotations

import http
import re
import uuid
from email import message_from_bytes
from email.message import Message
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from local_gcp.rest import ApiError

_MAX_CALLS = 100


class Batch:
    """Runs the calls in order through `app`, the application for single calls."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def run(self, request: Request) -> Response:
        """The endpoint: returns responses in the order of the calls, each with its own status."""
        calls = _parts(request.headers.get("content-type", ""), await request.body())
        boundary = f"batch_{uuid.uuid4().hex}"
        answers = [await self._answer(part, request) for part in calls]
        body = b"".join(b"--" + boundary.encode() + b"\r\n" + answer for answer in answers)
        body += b"--" + boundary.encode() + b"--\r\n"
        # Unquoted: for gcsfs, all that follows the equals sign is the boundary.
        return Response(body, media_type=f"multipart/mixed; boundary={boundary}")

    async def _answer(self, part: Message, outer: Request) -> bytes:
        method, target, headers, body = _request(part)
        status, response_headers, response_body = await _call(
            self.app, method, target, headers, body, outer
        )
        identity = (part.get("Content-ID") or "").strip().lstrip("<").rstrip(">")
        lines = ["Content-Type: application/http"]
        if identity:
            lines.append(f"Content-ID: <response-{identity}>")
        lines += ["", f"HTTP/1.1 {status} {_phrase(status)}"]
        lines += [f"{name.decode()}: {value.decode()}" for name, value in response_headers]
        return "\r\n".join([*lines, "", ""]).encode() + response_body + b"\r\n"


def _parts(content_type: str, body: bytes) -> list[Message]:
    message = message_from_bytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    if not message.is_multipart():
        raise ApiError(400, "batch: expected a multipart/mixed body.")
    parts = message.get_payload()
    if len(parts) > _MAX_CALLS:
        raise ApiError(400, f"batch: at most {_MAX_CALLS} calls, not {len(parts)}.")
    return parts


def _request(part: Message) -> tuple[str, str, dict[str, str], bytes]:
    """(method, target, headers, body) of the HTTP request in a part."""
    payload = part.get_payload(decode=True) or b""
    line, _, rest = payload.lstrip().partition(b"\n")
    try:
        method, target, *_ = line.decode().split()
    except ValueError:
        raise ApiError(400, f"batch: a part does not begin with a request: {line!r}.") from None
    inner = message_from_bytes(rest)
    body = inner.get_payload(decode=True) or b""
    return method, target, {k.lower(): v for k, v in inner.items()}, body.strip(b"\r\n")


async def _call(
    app: ASGIApp, method: str, target: str, headers: dict[str, str], body: bytes, outer: Request
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Send the request to `app` as a single one: (status, headers, body)."""
    url = urlsplit(target)
    path = url.path
    if method == "DELETE":  # in batches, gcsfs does not encode the slashes of an object's name
        path = re.sub(r"(?<=/o/).+", lambda name: quote(name[0], safe="%"), path)
    headers = {**headers, "host": outer.headers.get("host", ""), "content-length": str(len(body))}
    scope = {
        **outer.scope,
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": url.query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    for added_by_routing in ("path_params", "endpoint", "route", "app", "root_path"):
        scope.pop(added_by_routing, None)
    started: dict = {}
    chunks: list[bytes] = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            started.update(message)
        else:
            chunks.append(message.get("body", b""))

    await app(scope, receive, send)
    return started["status"], started["headers"], b"".join(chunks)


def _phrase(status: int) -> str:
    return http.HTTPStatus(status).phrase if status in set(http.HTTPStatus) else "Unknown"
