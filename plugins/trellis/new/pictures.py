"""Images that a table names, uploaded to Cloud Storage before the table."""

import base64
import itertools
import mimetypes
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import google_crc32c

from trellis.new.described import DataError, Pictures, listed
from trellis.results.files import blob, each_blob

_THREADS = 8
# Images that wait for their upload, in memory.
_AT_ONCE = 64


def upload(client: Any, pictures: Pictures) -> int:
    """Upload the images, unless they are there already; the number of all.

    client: google.cloud.storage.Client. Raises DataError, before anything is written, if an address
    has another content. A second call after a kill uploads what is missing.
    """
    bucket = pictures.folder.removeprefix("gs://").partition("/")[0]
    there = {
        f"gs://{bucket}/{found.name}": found.crc32c
        for found in each_blob(client, f"{pictures.folder}/")
    }
    if there:
        others = [
            address
            for address, read in pictures.each()
            if address in there and there[address] != _checksum(read())
        ]
        if others:
            raise _taken(others)
    count = 0
    waiting = pictures.each()
    with ThreadPoolExecutor(_THREADS) as pool:
        while some := list(itertools.islice(waiting, _AT_ONCE)):
            count += len(some)
            absent = [(address, read) for address, read in some if address not in there]
            list(pool.map(lambda each: _put(client, *each), absent))
    return count


def _put(client: Any, address: str, read: Callable[[], bytes]) -> None:
    from google.api_core.exceptions import PreconditionFailed

    data, object_ = read(), blob(client, address)
    kind = mimetypes.guess_type(address)[0]
    try:
        object_.upload_from_string(data, content_type=kind, if_generation_match=0)
    except PreconditionFailed:  # an answer that was lost, or somebody else's upload
        object_.reload()
        if object_.crc32c != _checksum(data):
            raise _taken([address]) from None


def _taken(addresses: Sequence[str]) -> DataError:
    return DataError(
        f"{len(addresses):,} images are in Cloud Storage already with another content, and stay as "
        f"they are: {listed(addresses[:3])}. Name another table, or rename the files"
    )


def _checksum(data: bytes) -> str:
    """Compute an object's checksum as Cloud Storage has it."""
    return base64.b64encode(struct.pack(">I", google_crc32c.value(data))).decode()
