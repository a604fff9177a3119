"""The entry point of unchanged clients: a CONNECT proxy that ends TLS and never leaves the machine.

A client with `https_proxy` asks for a tunnel to, say, us-central1-aiplatform.googleapis.com.
For a host of Google's, the gateway presents its own certificate and sends the decrypted bytes to
the REST server or the gRPC server here, as the client's ALPN requests. Every other host is refused
with 403, so that a local run cannot reach the network.
"""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import logging
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

from local_gcp.certificates import TOKEN_HOST
from local_gcp.home import LOOPBACK

log = logging.getLogger(__name__)

GOOGLE = ("googleapis.com", "*.googleapis.com", TOKEN_HOST)
"""Hosts at which a tunnel ends here. Those of no service get a 501 from the REST server."""


_QUICKACK = getattr(socket, "TCP_QUICKACK", None)  # Linux; the kernel resets it


class Gateway:
    """CONNECT proxy on loopback.

    `http` and `grpc` are the loopback ports of the two plaintext servers behind it.
    """

    def __init__(self, certificate: Path, http: int, grpc: int):
        self.http, self.grpc = http, grpc
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate)
        # In our order of preference: clients such as curl offer both and speak HTTP/1.1 as well;
        # gRPC clients offer nothing but h2.
        self._tls.set_alpn_protocols(["http/1.1", "h2"])
        self._server: asyncio.Server | None = None

    async def start(self, sock: socket.socket) -> None:
        """Serve on the bound socket `sock`."""
        self._server = await asyncio.start_server(self._serve, sock=sock)

    async def stop(self) -> None:
        """Accept no more tunnels; open ones end with the event loop."""
        if self._server:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
            refusal = why_refused(method, target)
            if refusal:
                log.warning("403: %s", refusal)
                await _refuse(writer, refusal)
            else:
                await self._tunnel(writer, target)
        except (
            OSError,
            ValueError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        ) as error:
            log.info("gateway: connection ended early: %r", error)
            writer.close()

    async def _tunnel(self, writer: asyncio.StreamWriter, target: str) -> None:
        loop = asyncio.get_running_loop()
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        client = _Pipe(writer.get_extra_info("socket"))
        transport = await loop.start_tls(writer.transport, client, self._tls, server_side=True)
        if transport is None:  # the client disconnected during the handshake
            return
        protocol = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        log.debug("CONNECT %s (%s)", target, protocol)
        port = self.grpc if protocol == "h2" else self.http
        backend_transport, backend = await loop.create_connection(_Pipe, LOOPBACK, port)
        client.join(backend_transport)
        backend.join(transport)
        await asyncio.wait([client.closed, backend.closed])


def why_refused(method: str, target: str, emulated: Sequence[str] = GOOGLE) -> str | None:
    """Return why a proxy request is refused, in one line; None if it is allowed."""
    host, _, port = target.rpartition(":")
    if method != "CONNECT":
        return f"local_gcp is a proxy for https only: {method} {target} is refused"
    if port != "443" or not any(fnmatch.fnmatch(host.lower(), pattern) for pattern in emulated):
        return f"local_gcp refuses {target}: a local run reaches no host outside this machine"
    return None


async def _refuse(writer: asyncio.StreamWriter, reason: str) -> None:
    # Most clients show the reason phrase and drop the body, curl users see the body.
    phrase = reason.encode("latin-1", "replace")
    writer.write(
        b"HTTP/1.1 403 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
        b"Connection: close\r\n\r\n%s\n" % (phrase, len(phrase) + 1, phrase)
    )
    await writer.drain()
    writer.close()


def _acknowledge(sock: socket.socket) -> None:
    """Acknowledge received data now, not 40 ms later.

    requests sends head and body of a request separately and, to a proxy, with Nagle's algorithm:
    the body waits until the head is acknowledged.
    """
    if _QUICKACK is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)


class _Pipe(asyncio.Protocol):
    """One end of a tunnel: writes what it receives to the other end, as fast as that reads."""

    def __init__(self, sock: socket.socket | None = None) -> None:
        self._socket = sock
        self.closed = asyncio.get_running_loop().create_future()
        self._other: asyncio.Transport | None = None
        self._early = bytearray()  # arrived between the handshake and join()

    def join(self, other: asyncio.Transport) -> None:
        """Send what this end reads to `other`."""
        self._other = other
        if self._early:
            other.write(self._early)
        if self.closed.done():
            other.close()

    def data_received(self, data: bytes) -> None:
        if self._socket:
            _acknowledge(self._socket)
        if self._other:
            self._other.write(data)
        else:
            self._early += data

    def pause_writing(self) -> None:  # the client of this end reads slowly
        if self._other:
            self._other.pause_reading()

    def resume_writing(self) -> None:
        if self._other:
            self._other.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(None)
        if self._other:
            self._other.close()
