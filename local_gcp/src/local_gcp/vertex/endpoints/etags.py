"""The etags of endpoints: an update based on an outdated state is refused.

https://google.aip.dev/154 specifies ABORTED; Vertex AI's code is not documented.
"""

from __future__ import annotations

from collections.abc import Callable

import grpc
from google.cloud import aiplatform_v1 as api

from local_gcp.variants import Variants
from local_gcp.wire import RpcError

_CODES = {"failed-precondition": grpc.StatusCode.FAILED_PRECONDITION}


class Etags:
    """Checks etags. `touch`: stores an endpoint with a new etag. See `Variants.etags`."""

    def __init__(self, variants: Variants, touch: Callable[[api.Endpoint], None]):
        self._conflicts = variants.etags != "checked"
        self._code = _CODES.get(variants.etags, grpc.StatusCode.ABORTED)
        self._touch = touch
        self._refused: set[str] = set()
        """Endpoints whose last update was refused by the variant."""

    def check(self, endpoint: api.Endpoint, etag: str) -> None:
        """Raise RpcError for an update with this etag if it is not the endpoint's."""
        if self._conflicts and endpoint.name not in self._refused:
            self._refused.add(endpoint.name)
            self._touch(endpoint)
        else:
            self._refused.discard(endpoint.name)
        if etag != endpoint.etag:
            # With the message of Vertex AI's metadata service.
            raise RpcError(
                self._code,
                f"Specified Endpoint `etag`: `{etag}` does not match server `etag`: "
                f"`{endpoint.etag}`: {endpoint.name} was changed by another request. Read it "
                "again.",
            )
