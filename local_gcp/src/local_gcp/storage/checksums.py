"""CRC32C and MD5 as Cloud Storage writes them: base64 of the big-endian digest."""

from __future__ import annotations

import base64
import hashlib
from typing import BinaryIO, NamedTuple

import google_crc32c

from local_gcp.rest import ApiError

_BLOCK = 1 << 20


class Checksums(NamedTuple):
    """Both checksums of an object's bytes. As on Google Cloud, composed objects have no MD5."""

    crc32c: str
    md5: str | None


def checksums(file: BinaryIO) -> Checksums:
    """Read `file` to its end, in blocks, and compute its checksums."""
    crc32c, md5 = google_crc32c.Checksum(), hashlib.md5(usedforsecurity=False)
    while block := file.read(_BLOCK):
        crc32c.update(block)
        md5.update(block)
    return Checksums(_base64(crc32c.digest()), _base64(md5.digest()))


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
            raise ApiError(
                400,
                f"Provided {kind} {digest!r} does not match calculated {kind} {received!r}: "
                "the upload arrived damaged; send it again.",
            )


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()
