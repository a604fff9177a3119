"""Writes request bodies to disk: plain ones, and the media part of multipart/related ones."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator
from email.message import Message
from pathlib import Path
from typing import Any, BinaryIO

from starlette.concurrency import run_in_threadpool

from local_gcp.rest import ApiError, json_object, not_emulated
from local_gcp.storage.checksums import RunningChecksums

_BLOCK = 1 << 20
_MAX_RESOURCE = 1 << 20


async def write_stream(
    stream: AsyncIterator[bytes],
    path: Path,
    offset: int = 0,
    sums: RunningChecksums | None = None,
) -> int:
    """Write `stream` to `path` (made if missing) from `offset` on; returns the number of bytes.

    Writes blocks in a thread: the size affects neither the memory nor other clients. If the stream
    breaks off, the received bytes are still written. Another thread keeps `sums` up to date; it may
    be behind on return.
    """
    if sums:
        await run_in_threadpool(sums.rewind, offset)
    with path.open("r+b" if path.exists() else "xb") as file:
        file.seek(offset)
        waiting: list[bytes] = []
        size = written = 0
        following: asyncio.Future | None = None
        try:
            async for chunk in stream:
                waiting.append(chunk)
                size += len(chunk)
                if size >= _BLOCK:
                    block, waiting, size = waiting, [], 0
                    written += await run_in_threadpool(_write, file, block)
                    if sums:
                        sums.written(offset + written)
                        if following is None or following.done():
                            following = asyncio.ensure_future(run_in_threadpool(sums.follow))
        finally:
            written += _write(file, waiting)
        return written


def _write(file: BinaryIO, pieces: list[bytes]) -> int:
    written = sum(map(file.write, pieces))
    file.flush()  # for those who read the file meanwhile
    return written


@dataclasses.dataclass(frozen=True)
class Related:
    """The parts of a multipart/related upload beside the bytes."""

    resource: dict[str, Any]
    """The object resource of the first part."""
    content_type: str | None
    """Content type of the second part, the media."""


async def write_related(stream: AsyncIterator[bytes], content_type: str, path: Path) -> Related:
    """Write the media part of a multipart/related body to `path`; raises ApiError 400 if malformed.

    https://cloud.google.com/storage/docs/uploading-objects#json-api-multipart-upload. Google's
    clients end lines with CRLF, gcsfs with LF; a body uses the same throughout.
    """
    header = Message()
    header["content-type"] = content_type
    boundary = header.get_boundary()
    if not boundary:
        raise ApiError(400, f"multipart upload: no boundary in Content-Type {content_type!r}.")
    delimiter = b"--" + boundary.strip("'").encode()

    head, opening = b"", None
    async for chunk in stream:
        head += chunk
        if opening := _opening(delimiter).match(head):
            break
        if len(head) > _MAX_RESOURCE:
            break
    if not opening:
        raise ApiError(400, "multipart upload: expected a JSON part and a media part.")

    async def media() -> AsyncIterator[bytes]:
        yield head[opening.end() :]
        async for chunk in stream:
            yield chunk

    await write_stream(media(), path)
    await run_in_threadpool(_cut_closing, path, opening["eol"] + delimiter + b"--")
    part = _headers(opening["media"])
    if part.get("content-transfer-encoding", "binary").lower() not in ("binary", "8bit", "7bit"):
        raise not_emulated(f"the Content-Transfer-Encoding {part['content-transfer-encoding']!r}")
    return Related(json_object(opening["resource"]), part.get("content-type"))


def _opening(delimiter: bytes) -> re.Pattern[bytes]:
    """Pattern of the body up to the first byte of the media."""
    line = re.escape(delimiter)
    return re.compile(
        rb"(?:\r?\n)*" + line + rb"(?P<eol>\r?\n)"
        rb"(?:[^\r\n]+\r?\n)*\r?\n(?P<resource>.*?)\r?\n" + line + rb"\r?\n"
        rb"(?P<media>(?:[^\r\n]+\r?\n)*)\r?\n",
        re.DOTALL,
    )


def _headers(block: bytes) -> dict[str, str]:
    lines = block.decode("latin-1").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _cut_closing(path: Path, closing: bytes) -> None:
    """Truncate the file before the closing delimiter at its end."""
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        start = max(0, size - len(closing) - 64)  # clients may add line ends after it
        file.seek(start)
        found = file.read().rfind(closing)
        if found < 0:
            raise ApiError(400, "multipart upload: the closing boundary is missing.")
        file.truncate(start + found)
