"""uvicorn's HTTP/1.1 protocol, for what storage clients send: a removed header, long bodies."""

from __future__ import annotations

import asyncio
import re

import h11
from h11._readers import ContentLengthReader
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol

_IDENTITY = re.compile(rb"(?im)^transfer-encoding:[ \t]*identity[ \t]*\r\n")
_MAX_HEAD = 64 << 10
TRANSPORT = "local_gcp.transport"
"""In `scope["state"]` of a request: the connection, so that it can be closed without a response."""


class HttpProtocol(H11Protocol):
    """Drops `Transfer-Encoding: identity` from request heads, and takes long bodies without copies.

    TensorFlow's gs:// file system sends the header with every body. RFC 2616 defined it as "no
    encoding at all", RFC 9112 removed it, and h11 therefore answers 501.

    h11 and uvicorn copy a body's bytes five times between them, which takes longer than to receive
    and to store them. So the bytes of a body with a Content-Length pass by h11, which counts them;
    it gets the last ones, and so ends the message itself.
    """

    _head = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.app_state = {**self.app_state, TRANSPORT: transport}
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is not h11.IDLE:
            return self._body_received(data)
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end < 0 and len(self._head) < _MAX_HEAD:
            return None  # not the whole head yet
        head, self._head = self._head, b""
        return super().data_received(_IDENTITY.sub(b"", head[: end + 2]) + head[end + 2 :])

    def _body_received(self, data: bytes) -> None:
        reader = self.conn._reader
        if (
            not isinstance(reader, ContentLengthReader)
            or len(data) >= reader._remaining  # ends the body
            or self.conn.trailing_data[0]  # earlier bytes are still in h11
            or self.cycle.body  # they have not been taken yet
            or self.cycle.response_complete  # nobody will
        ):
            return super().data_received(data)
        reader._remaining -= len(data)
        # receive() gives it to the application as it is.
        self.cycle.body = data  # type: ignore[assignment]
        if len(data) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        self.cycle.message_event.set()
        return None
