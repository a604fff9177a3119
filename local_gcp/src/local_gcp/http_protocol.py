"""uvicorn's HTTP/1.1 protocol, which also accepts a header that storage clients send."""

from __future__ import annotations

import asyncio
import re

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_IDENTITY = re.compile(rb"(?im)^transfer-encoding:[ \t]*identity[ \t]*\r\n")
_MAX_HEAD = 64 << 10
TRANSPORT = "local_gcp.transport"
"""In `scope["state"]` of a request: the connection, so that it can be closed without a response."""


class HttpProtocol(H11Protocol):
    """Drops `Transfer-Encoding: identity` from request heads.

    TensorFlow's gs:// file system sends it with every body. RFC 2616 defined it as "no encoding
    at all", RFC 9112 removed it, and h11 therefore answers 501.
    """

    _head = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.app_state = {**self.app_state, TRANSPORT: transport}
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is not h11.IDLE:  # in a body: as it is
            return super().data_received(data)
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end < 0 and len(self._head) < _MAX_HEAD:
            return None  # not the whole head yet
        head, self._head = self._head, b""
        return super().data_received(_IDENTITY.sub(b"", head[: end + 2]) + head[end + 2 :])
