"""objects.insert in its three forms: media, multipart and resumable.

https://cloud.google.com/storage/docs/uploads-downloads#uploads
"""

from __future__ import annotations

import asyncio
import os
import weakref
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from local_gcp.json_types import checked
from local_gcp.rest import ApiError, json_object
from local_gcp.storage.call import Call, decoded
from local_gcp.storage.checksums import RunningChecksums, expected, verify
from local_gcp.storage.receive import write_related, write_stream
from local_gcp.storage.resources import object_resource, writable_object_fields
from local_gcp.storage.resumable import (
    CHUNK_MULTIPLE,
    ContentRange,
    ResumableUploads,
    UnusableUploadError,
)
from local_gcp.storage.store import ObjectStore
from local_gcp.storage.stored_object import StoredObject

_RESUME_INCOMPLETE = 308
_CANCELLED = 499
_DEFAULT_TYPE = "application/octet-stream"


class UploadApi:
    """Endpoints below /upload/storage/v1."""

    def __init__(self, store: ObjectStore, folder: Path):
        self.store = store
        self.sessions = ResumableUploads(store, folder)
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    async def insert(self, request: Request) -> Response:
        """POST (and PUT) of an upload, PUT or POST of a resumable upload's bytes, DELETE of one."""
        try:
            return await self._insert(request)
        except ClientDisconnect:  # no client waits for the response
            return Response(status_code=_CANCELLED)
        except UnusableUploadError as error:
            return error.response()

    async def _insert(self, request: Request) -> Response:
        call = Call(**decoded(request), body={})
        upload = call.query.get("upload_id")
        if upload:
            # One request of a session at a time, also if a client gives up and retries.
            async with self._locks.setdefault(upload, asyncio.Lock()):
                if request.method == "DELETE":
                    await run_in_threadpool(self.sessions.cancel, upload)
                    return Response(status_code=_CANCELLED)
                return await self._continue(request, call, upload)
        forms = {"media": self._media, "multipart": self._multipart, "resumable": self._begin}
        kind = call.query.get("uploadType", "")
        if request.method == "DELETE" or kind not in forms:
            raise ApiError(400, f"uploadType: expected one of {', '.join(forms)}, got {kind!r}.")
        await run_in_threadpool(self.store.need_bucket, call.bucket)
        return await forms[kind](request, call)

    async def _media(self, request: Request, call: Call) -> Response:
        temporary = self.store.temporary()
        sums = RunningChecksums(temporary)
        try:
            await write_stream(request.stream(), temporary, sums=sums)
            sent_type = request.headers.get("content-type")
            return await run_in_threadpool(self._store, call, temporary, sums, {}, sent_type)
        finally:
            temporary.unlink(missing_ok=True)

    async def _multipart(self, request: Request, call: Call) -> Response:
        temporary = self.store.temporary()
        try:
            content_type = request.headers.get("content-type", "")
            related = await write_related(request.stream(), content_type, temporary)
            return await run_in_threadpool(
                self._store,
                call,
                temporary,
                RunningChecksums(temporary),  # none yet: the end of the media was not known
                checked(related.resource, "Object", "storage"),
                related.content_type,
            )
        finally:
            temporary.unlink(missing_ok=True)

    def _store(
        self,
        call: Call,
        temporary: Path,
        sums: RunningChecksums,
        resource: dict[str, Any],
        media_type: str | None,
    ) -> Response:
        found = sums.result()
        verify(found, expected(resource, call.headers))
        stored = self.store.put(
            temporary,
            call.bucket,
            _name(call, resource),
            _fields(call, resource, media_type),
            found,
            call.conditions,
        )
        return _created(stored, call)

    async def _begin(self, request: Request, call: Call) -> Response:
        resource = checked(json_object(await request.body()), "Object", "storage")
        name = _name(call, resource)
        fields = _fields(call, resource, request.headers.get("x-upload-content-type"))
        claims = expected(resource, call.headers)
        upload = await run_in_threadpool(
            self.sessions.begin, call.bucket, name, fields, claims, call.conditions
        )
        response = Response(headers={"X-GUploader-UploadID": upload})
        location = f"{call.base_url}{request.url.path}?uploadType=resumable&upload_id={upload}"
        # Capitalised, as by Google: TensorFlow depends on it. Starlette writes lower case.
        response.raw_headers.append((b"Location", location.encode()))
        return response

    async def _continue(self, request: Request, call: Call, upload: str) -> Response:
        content_range = ContentRange.parse(request.headers.get("content-range"))
        done = await run_in_threadpool(self.sessions.finished, upload)
        if done:
            return _created(done, call)
        await run_in_threadpool(self.sessions.check_chunk, upload, content_range)
        path = self.sessions.data(upload)
        first = 0 if content_range is None else content_range.first
        if first is not None and first <= path.stat().st_size:
            # After a failed request, a client sends its bytes again: they overwrite the first.
            sums = self.sessions.sums(upload)
            received = await write_stream(request.stream(), path, first, sums)
            _check_length(content_range, received)
        else:  # a status query, or a chunk after a lost one: return the received range
            await request.body()
        have = path.stat().st_size
        total = have if content_range is None else content_range.total
        if total is None or have < total:
            have -= have % CHUNK_MULTIPLE
            os.truncate(path, have)
            return _incomplete(have)
        if have > total:
            raise ApiError(400, f"The upload has {have} bytes already, more than {total}.")
        claims = expected({}, call.headers)
        return _created(await run_in_threadpool(self.sessions.finish, upload, claims), call)


def _check_length(content_range: ContentRange | None, received: int) -> None:
    if content_range is None or content_range.first is None or content_range.last is None:
        return
    announced = content_range.last - content_range.first + 1
    if received != announced:
        raise ApiError(400, f"Content-Range announces {announced} bytes, {received} arrived.")


def _incomplete(have: int) -> Response:
    response = Response(status_code=_RESUME_INCOMPLETE)
    if have:
        response.raw_headers.append((b"Range", f"bytes=0-{have - 1}".encode()))
    return response


def _created(stored: StoredObject, call: Call) -> Response:
    return JSONResponse(object_resource(stored, call.base_url))


def _name(call: Call, resource: dict[str, Any]) -> str:
    name = call.query.get("name") or resource.get("name")
    if not isinstance(name, str):
        raise ApiError(400, "Required: the object's 'name'.", "required")
    return name


def _fields(call: Call, resource: dict[str, Any], media_type: str | None) -> dict[str, Any]:
    fields = writable_object_fields(resource)
    fields.setdefault("contentType", media_type or _DEFAULT_TYPE)
    for name in ("contentEncoding", "kmsKeyName"):
        if call.query.get(name):
            fields[name] = call.query[name]
    return {name: value for name, value in fields.items() if value is not None}
