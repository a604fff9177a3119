"""The one identity without rights: model containers that Vertex AI runs without a service account.

A deployed model and a batch prediction without `service_account` run as an account of a project of
Google's. It may read the managed copy of the model's files, and nothing of the customer's:
https://docs.cloud.google.com/vertex-ai/docs/general/custom-service-account. Everybody else here is
the project's owner.

Such a container gets a key of that account (`environment.without_rights`). Its tokens are
recognized, whether the token endpoint made them or a client signed them itself, and its requests
are refused with 403.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any

import grpc
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from local_gcp.certificates import TENANT
from local_gcp.rest import ApiError
from local_gcp.vertex.artifacts import BUCKET

_TOKEN = "local-gcp-tenant."
_PERMISSIONS = {
    "GET": "storage.objects.get",
    "HEAD": "storage.objects.get",
    "DELETE": "storage.objects.delete",
}


def token_prefix(assertion: str) -> str:
    """Return the prefix of an access token that is issued for a signed assertion."""
    return _TOKEN if _issuer(assertion) == TENANT else "local-gcp."


class RestRights:
    """ASGI application around that of all services."""

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if _is_tenant(headers.get("authorization", "")) and not _own_files(scope):
                error = _refusal(scope["method"], headers.get("host", ""))
                return await error.response()(scope, receive, send)
        return await self._app(scope, receive, send)


class GrpcRights(grpc.ServerInterceptor):
    """Refuses gRPC calls of a client without permissions."""

    def intercept_service(self, continuation: Callable, details: Any) -> Any:
        sent = dict(details.invocation_metadata or ())
        return _REFUSING if _is_tenant(sent.get("authorization", "")) else continuation(details)


def _own_files(scope: Scope) -> bool:
    return scope["method"] in ("GET", "HEAD") and f"/{BUCKET}/" in f"{scope['path']}/"


def _refusal(method: str, host: str) -> ApiError:
    if not host.startswith("storage."):
        return ApiError(403, f"The caller {TENANT} does not have permission", "forbidden")
    permission = _PERMISSIONS.get(method, "storage.objects.create")
    return ApiError(
        403,
        f"{TENANT} does not have {permission} access to the Google Cloud Storage object. "
        f"Permission '{permission}' denied on resource (or it may not exist).",
        "forbidden",
    )


def _refuse(_requests: Any, context: grpc.ServicerContext) -> None:
    text = f"The caller {TENANT} does not have permission"
    context.abort(grpc.StatusCode.PERMISSION_DENIED, text)


_REFUSING = grpc.stream_stream_rpc_method_handler(_refuse)


def _is_tenant(authorization: str) -> bool:
    token = authorization.partition(" ")[2]
    return token.startswith(_TOKEN) or _issuer(token) == TENANT


def _issuer(token: str) -> str | None:
    """Return the signer of a JSON Web Token; None if it is none."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        return None
    return claims.get("iss") if isinstance(claims, dict) else None
