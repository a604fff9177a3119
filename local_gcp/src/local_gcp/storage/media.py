"""Downloads: whole objects, byte ranges, and gzip objects, decompressed on request.

https://cloud.google.com/storage/docs/transcoding
"""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from local_gcp.rest import ApiError
from local_gcp.storage.call import Call, decoded
from local_gcp.storage.preconditions import NotModified
from local_gcp.storage.store import ObjectStore
from local_gcp.storage.stored_object import StoredObject

_BLOCK = 1 << 20
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


class Media:
    """Serves the bytes of objects; the memory does not depend on an object's size."""

    def __init__(self, store: ObjectStore):
        self.store = store

    async def download(self, request: Request) -> Response:
        """GET or HEAD of an object's bytes: JSON API's alt=media, and the XML API's object URL."""
        call = Call(**decoded(request), body={})
        file, found = await run_in_threadpool(self._open, call)
        try:
            call.conditions.check(found, reading=True)
            return _respond(request, file, found)
        except NotModified:
            file.close()
            return Response(status_code=304, headers={"ETag": _etag(request, found)})
        except BaseException:
            file.close()
            raise

    def _open(self, call: Call) -> tuple[BinaryIO, StoredObject]:
        file, found = self.store.open(call.bucket, call.object, call.generation)
        if "range" not in call.headers and not found.checksums:
            # Clients verify whole objects. Opened again: the object may have been replaced.
            file.close()
            self.store.summed(found)
            file, found = self.store.open(call.bucket, call.object, call.generation)
        return file, found


def _respond(request: Request, file: BinaryIO, found: StoredObject) -> Response:
    headers = _headers(found) | {"ETag": _etag(request, found)}
    encoding = found.fields.get("contentEncoding")
    no_transform = "no-transform" in found.fields.get("cacheControl", "")
    accepts_gzip = "gzip" in request.headers.get("accept-encoding", "")
    if encoding == "gzip" and not accepts_gzip and not no_transform:
        return StreamingResponse(_unzipped(file), headers=headers)  # a range would be meaningless
    if encoding:
        headers["Content-Encoding"] = encoding
    first, last = 0, found.size - 1
    requested = byte_range(request.headers.get("range"), found.size)
    if requested:
        first, last = requested
        headers["Content-Range"] = f"bytes {first}-{last}/{found.size}"
    headers["Content-Length"] = str(last - first + 1)
    status = 206 if requested else 200
    if request.method == "HEAD":
        file.close()
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_blocks(file, first, last), status, headers)


def byte_range(header: str | None, size: int) -> tuple[int, int] | None:
    """(first, last) of a Range header, inclusive; None for the whole object.

    Raises ApiError 416 if an object of `size` bytes has no byte in the range. Multiple ranges and
    malformed headers are ignored, as RFC 9110 allows.
    """
    match = _RANGE.fullmatch((header or "").replace(" ", ""))
    if not match or match.groups() == ("", ""):
        return None
    start, end = match.groups()
    if start:
        first, last = int(start), min(int(end), size - 1) if end else size - 1
        if end and int(end) < first:
            return None
    else:
        first, last = max(0, size - int(end)), size - 1
    if first >= size or (not start and int(end) == 0):
        raise ApiError(416, f"Request range not satisfiable: {header} of {size} bytes.")
    return first, last


def _headers(found: StoredObject) -> dict[str, str]:
    names = {
        "contentType": "Content-Type",
        "cacheControl": "Cache-Control",
        "contentDisposition": "Content-Disposition",
        "contentLanguage": "Content-Language",
    }
    headers = {
        "Accept-Ranges": "bytes",
        "X-Goog-Generation": str(found.generation),
        "X-Goog-Metageneration": str(found.metageneration),
        "X-Goog-Stored-Content-Length": str(found.size),
        "X-Goog-Stored-Content-Encoding": found.fields.get("contentEncoding", "identity"),
        "X-Goog-Storage-Class": found.fields.get("storageClass", "STANDARD"),
    }
    headers |= {header: found.fields[key] for key, header in names.items() if key in found.fields}
    metadata = found.fields.get("metadata") or {}
    headers |= {f"X-Goog-Meta-{key}": value for key, value in metadata.items()}
    if found.checksums:
        md5 = f",md5={found.checksums.md5}" if found.checksums.md5 else ""
        headers["X-Goog-Hash"] = f"crc32c={found.checksums.crc32c}{md5}"
    # HTTP cannot carry other characters; the JSON API shows the values in full.
    return {k: v for k, v in headers.items() if f"{k}{v}".isascii() and f"{k}{v}".isprintable()}


def _etag(request: Request, found: StoredObject) -> str:
    """Quote the ETag for the XML API's URLs; leave it as in the resource for the JSON API's.

    Google's client stores a download's etag as the object's.
    """
    json_api = request.url.path.startswith(("/storage/", "/download/"))
    return found.etag if json_api else f'"{found.etag}"'


async def _blocks(file: BinaryIO, first: int, last: int) -> AsyncIterator[bytes]:
    """Bytes `first` to `last`; ends early, which breaks the connection, if the file shrinks."""
    with file:
        file.seek(first)
        left = last - first + 1
        while left and (block := await run_in_threadpool(file.read, min(_BLOCK, left))):
            left -= len(block)
            yield block


async def _unzipped(file: BinaryIO) -> AsyncIterator[bytes]:
    unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    with file:
        while block := await run_in_threadpool(file.read, _BLOCK // 16):
            yield await run_in_threadpool(unzip.decompress, block)
        yield unzip.flush()
