"""Resumable uploads: sessions that survive the connection, the client and this server.

https://cloud.google.com/storage/docs/performing-resumable-uploads. The catalog has the request, a
file the received bytes; its size is their number.
"""

from __future__ import annotations

import dataclasses
import re
import time
import uuid
from pathlib import Path
from typing import Any

from starlette.responses import PlainTextResponse, Response

from local_gcp.rest import ApiError
from local_gcp.storage.checksums import RunningChecksums, verify
from local_gcp.storage.preconditions import Preconditions
from local_gcp.storage.store import ObjectStore
from local_gcp.storage.stored_object import StoredObject

_LIFETIME_SECONDS = 7 * 24 * 3600
"""Cloud Storage expires a session after a week."""


CHUNK_MULTIPLE = 256 << 10
"""Bytes of a chunk, at least; bytes after a multiple of it are dropped: send them again."""


class UnusableUploadError(ApiError):
    """A session that takes no more bytes; Cloud Storage answers with text."""

    def response(self) -> Response:
        return PlainTextResponse(self.message, self.code)


@dataclasses.dataclass(frozen=True)
class ContentRange:
    """`Content-Range: bytes FIRST-LAST/TOTAL` of an upload request; None for a `*`."""

    first: int | None
    last: int | None
    total: int | None

    @classmethod
    def parse(cls, header: str | None) -> ContentRange | None:
        """Parse a header; None without one: the body is the whole object."""
        if header is None:
            return None
        match = re.fullmatch(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)", header.strip())
        if not match:
            raise ApiError(400, f"Invalid Content-Range {header!r}.")
        first, last, total = match.groups()
        if first is not None and int(last) < int(first):
            raise ApiError(400, f"Invalid Content-Range {header!r}: it ends before it begins.")
        return cls(
            None if first is None else int(first),
            None if last is None else int(last),
            None if total == "*" else int(total),
        )


class ResumableUploads:
    """The sessions. Methods block; requests of one session must be sequential."""

    def __init__(self, store: ObjectStore, folder: Path):
        self.store, self.catalog, self.folder = store, store.catalog, folder
        self._sums: dict[str, RunningChecksums] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def begin(
        self,
        bucket: str,
        name: str,
        fields: dict[str, Any],
        claims: dict[str, str],
        conditions: Preconditions,
    ) -> str:
        """Open a session and return its id. Conditions are checked now and at the end."""
        conditions.check(self.store.find(bucket, name))
        upload = uuid.uuid4().hex
        session = {"bucket": bucket, "name": name, "fields": fields, "claims": claims}
        session["conditions"] = dataclasses.asdict(conditions)
        (self.folder / upload).touch()
        self.catalog.put_upload(upload, session, created=time.time_ns() // 1000)
        return upload

    def data(self, upload: str) -> Path:
        """The file for the bytes of an unfinished session."""
        return self.folder / upload

    def sums(self, upload: str) -> RunningChecksums:
        """The checksums of those bytes; after a restart of this server they begin again."""
        return self._sums.setdefault(upload, RunningChecksums(self.data(upload)))

    def finished(self, upload: str) -> StoredObject | None:
        """The object that the session created; None while it is open.

        Raises ApiError 404 for an unknown session, 410 if its object was replaced or deleted, and
        UnusableUploadError after a chunk that was too small.
        """
        session = self._session(upload)
        if refusal := session.get("refusal"):
            raise UnusableUploadError(400, refusal)
        if self.data(upload).exists():
            return None
        live = self.store.find(session["bucket"], session["name"])
        for row in self.catalog.objects_of_upload(upload):
            if live and live.generation == row.generation:
                return live
        raise ApiError(410, "This upload is finished, and its object has been replaced.", "gone")

    def check_chunk(self, upload: str, sent: ContentRange | None) -> None:
        """Raise UnusableUploadError for a chunk that is too small, and for all that follow it.

        https://cloud.google.com/storage/docs/performing-resumable-uploads#chunked-upload
        """
        if sent is None or sent.first is None or sent.last is None:
            return
        size = sent.last - sent.first + 1
        final = sent.total is not None and sent.last + 1 >= sent.total
        if size >= CHUNK_MULTIPLE or final:
            return
        refusal = (
            "Invalid request.  The number of bytes uploaded is required to be equal or greater "
            f"than {CHUNK_MULTIPLE}, except for the final request (it's recommended to be the "
            f"exact multiple of {CHUNK_MULTIPLE}).  The received request contained {size} bytes, "
            "which does not meet this requirement."
        )
        session = {**self._session(upload), "refusal": refusal}
        self.catalog.put_upload(upload, session, created=time.time_ns() // 1000)
        raise UnusableUploadError(400, refusal)

    def finish(self, upload: str, claims: dict[str, str]) -> StoredObject:
        """Create the object. `claims`: checksums sent with the last bytes, if not with `begin`."""
        session = self._session(upload)
        sums = self.sums(upload).result()
        verify(sums, session["claims"])
        verify(sums, claims)
        stored = self.store.put(
            self.data(upload),
            session["bucket"],
            session["name"],
            session["fields"],
            sums,
            Preconditions(**session["conditions"]),
            upload,
        )
        self._sums.pop(upload, None)
        return stored

    def cancel(self, upload: str) -> None:
        """Delete the session and its bytes; the object of a finished session stays."""
        self._session(upload)
        self.catalog.delete_upload(upload)
        self.data(upload).unlink(missing_ok=True)
        self._sums.pop(upload, None)

    def expire(self) -> None:
        """Delete expired sessions, and files whose session was never acknowledged."""
        now = time.time_ns() // 1000
        for upload in self.catalog.uploads_before(now - _LIFETIME_SECONDS * 1_000_000):
            self.cancel(upload)
        for path in self.folder.iterdir():
            if self.catalog.upload(path.name) is None:
                path.unlink()

    def _session(self, upload: str) -> dict[str, Any]:
        session = self.catalog.upload(upload)
        if session is None:
            raise ApiError(404, f"No such upload session: {upload}", "notFound")
        return session
