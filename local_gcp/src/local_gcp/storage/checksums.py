"""CRC32C and MD5 as Cloud Storage writes them: base64 of the big-endian digest."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import threading
from pathlib import Path
from typing import BinaryIO, NamedTuple

import google_crc32c

from local_gcp.rest import ApiError

_BLOCK = 256 << 10
"""Small enough that a block is still in the processor's cache when it is summed."""


class Checksums(NamedTuple):
    """Both checksums of an object's bytes. As on Google Cloud, composed objects have no MD5."""

    crc32c: str
    md5: str | None


class _Sum:
    """Both checksums of the bytes so far."""

    def __init__(self) -> None:
        self.size = 0
        self._crc32c, self._md5 = google_crc32c.Checksum(), hashlib.md5(usedforsecurity=False)

    def add(self, block: bytes) -> None:
        self.size += len(block)
        self._crc32c.update(block)
        self._md5.update(block)

    def checksums(self) -> Checksums:
        return Checksums(_base64(self._crc32c.digest()), _base64(self._md5.digest()))


def checksums(file: BinaryIO) -> Checksums:
    """Read `file` to its end, in blocks, and compute its checksums."""
    total = _Sum()
    while block := file.read(_BLOCK):
        total.add(block)
    return total.checksums()


class RunningChecksums:
    """Checksums of a file that is still being written, computed behind its writer.

    MD5 takes longer than to receive the bytes, so a thread computes it meanwhile, and the client
    waits only for the rest. Thread-safe.
    """

    def __init__(self, path: Path):
        self._path, self._lock, self._sum = path, threading.Lock(), _Sum()
        self._written = 0

    def written(self, size: int) -> None:
        """The first `size` bytes of the file are written; `follow` may read them."""
        self._written = size

    def rewind(self, size: int) -> None:
        """Keep only the first `size` bytes: others will be written after them, or none."""
        self._written = min(self._written, size)  # ends a `follow` in another thread
        with self._lock:
            if self._sum.size > size:
                self._sum = _Sum()

    def follow(self) -> None:
        """Sum the bytes that are written, also those that are meanwhile. Blocks."""
        with (
            self._lock,
            contextlib.suppress(FileNotFoundError),  # the upload was given up
            self._path.open("rb") as file,
        ):
            file.seek(self._sum.size)
            while block := file.read(min(_BLOCK, max(0, self._written - self._sum.size))):
                self._sum.add(block)

    def result(self) -> Checksums:
        """The checksums of the whole file. Blocks until the rest is summed."""
        size = self._path.stat().st_size
        self.rewind(size)
        self.written(size)
        self.follow()
        return self._sum.checksums()


def expected(resource: dict, headers) -> dict[str, str]:
    """The checksums that the client sent: {"crc32c": ..., "md5": ...}.

    Clients send them in the object resource (crc32c, md5Hash) or as header
    `X-Goog-Hash: crc32c=...,md5=...`.
    """
    claims = {"crc32c": resource.get("crc32c"), "md5": resource.get("md5Hash")}
    for value in headers.getlist("x-goog-hash"):
        for claim in value.split(","):
            kind, _, digest = claim.strip().partition("=")
            claims[kind] = digest
    return {kind: digest for kind, digest in claims.items() if digest and kind in ("crc32c", "md5")}


def verify(actual: Checksums, claims: dict[str, str]) -> None:
    """Raise ApiError 400 if the received bytes do not match the client's checksums."""
    for kind, digest in claims.items():
        received = getattr(actual, kind)
        if received is not None and received != digest:
            name = {"crc32c": "CRC32C", "md5": "MD5 hash"}[kind]
            raise ApiError(
                400, f'Provided {name} "{digest}" doesn\'t match calculated {name} "{received}".'
            )


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()
