"""The routes of the JSON API, and of reads through the XML API's URLs.

A route that is not in this table gives 501 with its name: access control lists, IAM policies
(permissions are not checked), notifications, HMAC keys, soft delete, holds, folders, XML writes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from local_gcp.emulated_parameters import taking
from local_gcp.rest import ApiError, EncodedPath, as_api_error, not_emulated
from local_gcp.storage.batch import Batch
from local_gcp.storage.bucket_api import BucketApi
from local_gcp.storage.call import Call, endpoint
from local_gcp.storage.media import Media
from local_gcp.storage.object_api import ObjectApi
from local_gcp.storage.store import ObjectStore
from local_gcp.storage.upload_api import UploadApi

_BUCKETS = "/storage/v1/b"
_BUCKET = f"{_BUCKETS}/{{bucket}}"
_OBJECTS = f"{_BUCKET}/o"
_OBJECT = f"{_OBJECTS}/{{object}}"
_TARGET = "b/{target_bucket}/o/{target}"
Handler = Callable[[Request], Awaitable[Response]]
_ALL = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def storage_app(store: ObjectStore, uploads: UploadApi) -> ASGIApp:
    """The ASGI application. Paths stay percent-encoded until `call.decoded`."""
    buckets, objects, media = BucketApi(store), ObjectApi(store), Media(store)

    def bucket(name: str, function: Callable[[Call], Any], message: str = "") -> Handler:
        return taking(f"storage.buckets.{name}", endpoint(function, message))

    def of_object(name: str, function: Callable[[Call], Any], message: str = "") -> Handler:
        return taking(f"storage.objects.{name}", endpoint(function, message))

    download = taking("storage.objects.get", media.download)
    upload = taking("storage.objects.insert", uploads.insert)

    async def get_object(request: Request) -> Response:
        if request.query_params.get("alt") == "media":
            return await download(request)
        return await of_object("get", objects.get)(request)

    def one_object(path: str) -> list[Route]:
        return [
            Route(path, get_object, methods=["GET"]),
            Route(path, of_object("patch", objects.patch, "Object"), methods=["PATCH"]),
            Route(path, of_object("update", objects.update, "Object"), methods=["PUT"]),
            Route(path, of_object("delete", objects.delete), methods=["DELETE"]),
        ]

    def collection(path: str, listed: Handler, insert: Handler | None = None) -> list[Route]:
        methods = {"GET": listed} | ({"POST": insert} if insert else {})
        # Also with a trailing slash: gcsfs sent it so for years.
        return [
            Route(path + slash, handler, methods=[method])
            for slash in ("", "/")
            for method, handler in methods.items()
        ]

    calls = Starlette(
        routes=[
            *collection(
                _BUCKETS,
                bucket("list", buckets.list),
                bucket("insert", buckets.insert, "Bucket"),
            ),
            Route(_BUCKET, bucket("get", buckets.get), methods=["GET"]),
            Route(_BUCKET, bucket("patch", buckets.patch, "Bucket"), methods=["PATCH"]),
            Route(_BUCKET, bucket("update", buckets.update, "Bucket"), methods=["PUT"]),
            Route(_BUCKET, bucket("delete", buckets.delete), methods=["DELETE"]),
            Route(f"{_BUCKET}/storageLayout", bucket("getStorageLayout", buckets.storage_layout)),
            Route(
                f"{_BUCKET}/iam/testPermissions",
                bucket("testIamPermissions", buckets.test_permissions),
            ),
            *collection(_OBJECTS, of_object("list", objects.list)),
            Route(
                f"{_OBJECT}/compose",
                of_object("compose", objects.compose, "ComposeRequest"),
                methods=["POST"],
            ),
            Route(
                f"{_OBJECT}/copyTo/{_TARGET}",
                of_object("copy", objects.copy, "Object"),
                methods=["POST"],
            ),
            Route(
                f"{_OBJECT}/rewriteTo/{_TARGET}",
                of_object("rewrite", objects.rewrite, "Object"),
                methods=["POST"],
            ),
            Route(
                f"{_OBJECT}/moveTo/o/{{target}}",
                of_object("move", objects.move, "Object"),
                methods=["POST"],
            ),
            *one_object(_OBJECT),
            *(
                Route(f"{prefix}{_OBJECTS}", upload, methods=["POST", "PUT", "DELETE"])
                for prefix in ("/upload", "/resumable/upload")
            ),
            Route(f"/download{_OBJECT}", download, methods=["GET"]),
            *(
                Route(f"/{first}/{{path:path}}", _refuse, methods=_ALL)
                for first in ("storage", "upload", "resumable", "download", "batch")
            ),
            Route("/{bucket}/{object:path}", media.download, methods=["GET"]),
            Route("/{path:path}", _refuse, methods=_ALL),
        ],
        exception_handlers={ApiError: _on_error, Exception: _on_error},
    )
    single = EncodedPath(calls)
    batch = Batch(single)
    return Starlette(
        routes=[
            Route("/batch/storage/v1", batch.run, methods=["POST"]),
            Route("/batch", batch.run, methods=["POST"]),
            Mount("", single),
        ],
        exception_handlers={ApiError: _on_error, Exception: _on_error},
    )


async def _on_error(request: Request, error: Exception) -> Response:
    """The error as Cloud Storage sends it: without `status`; as text for a download."""
    answer = as_api_error(request, error)
    path, media = request.url.path, request.query_params.get("alt") == "media"
    if request.method == "GET" and answer.code != 501 and (media or path.startswith("/download/")):
        return PlainTextResponse(answer.message, answer.code, media_type="text/html")
    return JSONResponse({"error": answer.json(status=False)}, answer.code)


async def _refuse(request: Request) -> Response:
    raise not_emulated(f"{request.method} {request.url.path} of Cloud Storage")
