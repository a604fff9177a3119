"""Decodes HTTP requests of the JSON API to calls of plain functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from local_gcp.home import LOOPBACK
from local_gcp.json_types import checked
from local_gcp.rest import ApiError, json_object, not_emulated
from local_gcp.storage.preconditions import NotModified, Preconditions

_ENCRYPTION_HEADERS = ("x-goog-encryption-", "x-goog-copy-source-encryption-")


@dataclasses.dataclass(frozen=True)
class Call:
    """A request, decoded."""

    params: Mapping[str, str]
    """Names in the path: bucket, object, ..."""
    query: QueryParams
    headers: Headers
    base_url: str
    body: Mapping[str, Any]

    @property
    def bucket(self) -> str:
        return self.params["bucket"]

    @property
    def object(self) -> str:
        return self.params["object"]

    @property
    def generation(self) -> int | None:
        return self.number("generation")

    @property
    def conditions(self) -> Preconditions:
        return Preconditions.of(self.query, self.headers)

    def number(self, name: str, default: int | None = None) -> int | None:
        """A query parameter that must be a number; raises ApiError 400 if it is not."""
        text = self.query.get(name)
        if text is None:
            return default
        if not text.isdecimal():
            raise ApiError(400, f"{name}: expected a number, got {text!r}.")
        return int(text)

    def flag(self, name: str) -> bool:
        """A query parameter that is "true" or "false"."""
        return self.query.get(name, "false").lower() == "true"


def endpoint(
    function: Callable[[Call], Mapping[str, Any] | None], message: str = ""
) -> Callable[[Request], Awaitable[Response]]:
    """Starlette endpoint for `function`, which returns JSON and runs in a thread, since it blocks.

    None becomes status 204, NotModified 304. `message`: the body's type.
    """

    async def handle(request: Request) -> Response:
        body = json_object(await request.body())
        if message:
            body = checked(body, message, "storage")
        call = Call(**decoded(request), body=body)
        try:
            result = await run_in_threadpool(function, call)
        except NotModified:
            return Response(status_code=304)
        return Response(status_code=204) if result is None else JSONResponse(result)

    return handle


def decoded(request: Request) -> dict[str, Any]:
    """The fields of a Call except its body; raises ApiError 501 for customer-supplied keys."""
    if any(name.startswith(_ENCRYPTION_HEADERS) for name in request.headers):
        raise not_emulated("customer-supplied encryption keys")
    return {
        "params": {name: unquote(value) for name, value in request.path_params.items()},
        "query": request.query_params,
        "headers": request.headers,
        "base_url": base_url(request),
    }


def base_url(request: Request) -> str:
    """The URL by which the client reached the server, for links in responses."""
    host = request.headers.get("host", LOOPBACK)
    plain = host.partition(":")[0] in (LOOPBACK, "localhost")
    return f"{'http' if plain else 'https'}://{host}"
