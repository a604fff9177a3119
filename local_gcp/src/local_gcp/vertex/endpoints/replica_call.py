"""One HTTP request to a serving process.

Each has its own connection: on loopback that costs a tenth of a millisecond, and a request never
uses a connection that the other side is closing. So a refused request was certainly not received,
and can be sent to another replica.
"""

from __future__ import annotations

import dataclasses
import http.client
from collections.abc import Mapping

from local_gcp.home import LOOPBACK


class RefusedError(Exception):
    """The connection was refused: the request was not received."""


class DiedError(Exception):
    """The process ended or closed the connection before its response."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """The model server's response."""

    status: int
    content_type: str
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")


def call(
    port: int,
    method: str,
    route: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 60.0,
) -> Answer:
    """Send a request and wait for the whole response.

    RefusedError, DiedError, or TimeoutError after `timeout` seconds.
    """
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=timeout)
    try:
        try:
            connection.connect()
        except ConnectionRefusedError:
            raise RefusedError from None
        connection.request(method, route, body, dict(headers or {}))
        response = connection.getresponse()
        content = response.read()
        return Answer(response.status, response.getheader("Content-Type", ""), content)
    except TimeoutError:
        raise
    except (OSError, http.client.HTTPException) as error:
        raise DiedError(repr(error)) from None
    finally:
        connection.close()
