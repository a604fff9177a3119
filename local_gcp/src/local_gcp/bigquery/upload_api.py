"""jobs.insert with a file in the request: multipart or resumable.

The file is stored as HOME/bigquery/uploads/JOB, where the job reads it, also after a restart.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from local_gcp.json_types import checked
from local_gcp.rest import json_object
from local_gcp.storage.call import base_url
from local_gcp.storage.receive import write_related, write_stream
from local_gcp.storage.resumable import ContentRange

from .errors import BigQueryError, invalid
from .job_api import JobApi
from .memory import patiently

_RESUME_INCOMPLETE = 308


class UploadApi:
    """Endpoints below /upload/bigquery/v2."""

    def __init__(self, jobs: JobApi, uploads: Path):
        self._jobs, self._uploads = jobs, uploads
        self._sessions: dict[str, tuple[str, dict[str, Any]]] = {}

    async def insert(self, request: Request) -> Response:
        """POST of an upload, PUT of the bytes of a resumable one."""
        upload = request.query_params.get("upload_id")
        if upload:
            return await self._continue(request, upload)
        kind = request.query_params.get("uploadType")
        if kind == "multipart":
            return await self._multipart(request)
        if kind == "resumable":
            return await self._begin(request)
        raise invalid(f"uploadType: expected multipart or resumable, got {kind!r}.")

    async def _multipart(self, request: Request) -> Response:
        path = self._new_file(uuid.uuid4().hex)
        try:
            content_type = request.headers.get("content-type", "")
            related = await write_related(request.stream(), content_type, path)
            project = request.path_params["project"]
            return await run_in_threadpool(
                self._submit, project, checked(related.resource, "Job", "bigquery"), path
            )
        finally:
            path.unlink(missing_ok=True)

    async def _begin(self, request: Request) -> Response:
        body = checked(json_object(await request.body()), "Job", "bigquery")
        project = request.path_params["project"]
        self._jobs.resource(project, body)  # reject before the bytes are sent
        upload = uuid.uuid4().hex
        self._new_file(upload).touch()
        self._sessions[upload] = project, body
        response = Response(headers={"X-GUploader-UploadID": upload})
        location = f"{base_url(request)}{request.url.path}?uploadType=resumable&upload_id={upload}"
        response.raw_headers.append((b"Location", location.encode()))
        return response

    async def _continue(self, request: Request, upload: str) -> Response:
        if upload not in self._sessions:
            raise BigQueryError("notFound", f"No such upload session: {upload}")
        path = self._new_file(upload)
        content_range = ContentRange.parse(request.headers.get("content-range"))
        first = 0 if content_range is None else content_range.first
        if first is not None and first <= path.stat().st_size:
            await write_stream(request.stream(), path, first)
        else:
            await request.body()
        have = path.stat().st_size
        total = have if content_range is None else content_range.total
        if total is None or have < total:
            response = Response(status_code=_RESUME_INCOMPLETE)
            if have:
                response.raw_headers.append((b"Range", f"bytes=0-{have - 1}".encode()))
            return response
        project, body = self._sessions.pop(upload)
        return await run_in_threadpool(self._submit, project, body, path)

    def _new_file(self, upload: str) -> Path:
        self._uploads.mkdir(parents=True, exist_ok=True)
        return self._uploads / f".{upload}"

    def _submit(self, project: str, body: dict[str, Any], path: Path) -> Response:
        configuration = (body.get("configuration") or {}).get("load")
        if configuration is None:
            raise invalid("Only load jobs take a file.")
        reference = dict(body.get("jobReference") or {})
        reference.setdefault("jobId", f"job_{uuid.uuid4().hex}")
        body = {**body, "jobReference": reference}
        self._jobs.resource(project, body)  # validate the id before it becomes a file name
        kept = self._uploads / reference["jobId"]
        patiently(lambda: self._jobs.refuse_used(project, reference["jobId"]))
        path.rename(kept)
        resource, _ = patiently(lambda: self._jobs.begin(project, body))
        return JSONResponse(resource)
