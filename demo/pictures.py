"""Uploads pictures and their manifest to the bucket, as a lab would have them there.

FOLDER/images/NAME.png   the pictures
FOLDER/manifest.csv      gs://...png,label: the format that Vertex AI image datasets import
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
from google.cloud import storage

_THREADS = 8


def load(folder: str, make: Callable[[], Iterable[tuple[str, str, np.ndarray]]]) -> None:
    """Fill gs://BUCKET/PATH/ unless its manifest exists; says what it did.

    make: (name, label, pixels) of each picture; label is what stands after the address, as several
    labels or a group; pixels are uint8 of (height, width) or, in BGR, (height, width, 3).
    """
    if exists(folder):
        return
    made = list(make())
    addresses = upload(folder, ((name, pixels) for name, _, pixels in made))
    lines = [f"{address},{label}\n" for address, (_, label, _) in zip(addresses, made, strict=True)]
    # Written last: an existing manifest names only existing images.
    _manifest(folder).upload_from_string("".join(lines), content_type="text/csv")
    print(f"{len(lines)} images and manifest.csv are in {folder}")


def exists(folder: str) -> bool:
    """Whether the manifest is there; says so."""
    if found := _manifest(folder).exists():
        print(f"{folder}manifest.csv already exists")
    return bool(found)


def _manifest(folder: str) -> storage.Blob:
    bucket_name, _, prefix = folder.removeprefix("gs://").rstrip("/").partition("/")
    return storage.Client().bucket(bucket_name).blob(f"{prefix}/manifest.csv")


def upload(
    folder: str, made: Iterable[tuple[str, np.ndarray]], within: str = "images"
) -> list[str]:
    """Write gs://BUCKET/PATH/images/NAME.png for each picture; the addresses, in order.

    made: (name, pixels) of each, as in `load`. within: another folder than images.
    """
    bucket_name, _, prefix = folder.removeprefix("gs://").rstrip("/").partition("/")
    bucket = storage.Client().bucket(bucket_name)

    def put(blob: storage.Blob, data: bytes) -> str:
        try:
            # One request: the size is known, so the client begins no resumable upload.
            blob.upload_from_string(data, content_type="image/png")
        except Exception as error:
            raise RuntimeError(f"gs://{blob.bucket.name}/{blob.name}: {error}") from error
        return f"gs://{blob.bucket.name}/{blob.name}"

    blobs, files = [], []
    for name, pixels in made:
        blobs.append(bucket.blob(f"{prefix}/{within}/{name}.png"))
        files.append(cv2.imencode(".png", pixels)[1].tobytes())
    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(put, blobs, files))
