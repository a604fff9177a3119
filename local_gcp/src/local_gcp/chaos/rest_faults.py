"""Fault injection for HTTP: an ASGI application around that of all services."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local_gcp.chaos.storm import Storm
from local_gcp.http_protocol import TRANSPORT
from local_gcp.rest import ApiError

_REFUSALS = {
    "503": ApiError(503, "Service unavailable (by local-gcp chaos).", "backendError"),
    "429": ApiError(429, "Rate limit exceeded (by local-gcp chaos).", "rateLimitExceeded"),
}


class RestFaults:
    """The application. A request's name is `POST bigquery.googleapis.com/bigquery/v2/...`."""

    def __init__(self, app: ASGIApp, storm: Storm):
        self._app, self._storm = app, storm

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith("/local_gcp/"):
            return await self._app(scope, receive, send)
        host = Headers(scope=scope).get("host", "").partition(":")[0].lower()
        group = f"{scope['method']} {host}"
        fate = self._storm.fate(f"{group}{scope['path']}", group)
        await asyncio.sleep(fate.latency)
        if refusal := _REFUSALS.get(str(fate.fault)):
            await _read(receive)
            return await refusal.response()(scope, receive, send)
        if fate.fault == "lost":
            await self._app(scope, receive, _nobody)
            return await _hang_up(scope, receive)
        return await self._app(scope, receive, send)


async def _read(receive: Receive) -> None:
    """Read the whole body: a client that is still sending would see a broken connection."""
    while (await receive()).get("more_body"):
        pass


async def _nobody(_message: Message) -> None:
    """Drops a response."""


async def _hang_up(scope: Scope, receive: Receive) -> None:
    scope["state"][TRANSPORT].abort()
    while (await receive())["type"] != "http.disconnect":
        pass
