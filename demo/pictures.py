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
    bucket_name, _, prefix = folder.removeprefix("gs://").rstrip("/").partition("/")
    bucket = storage.Client().bucket(bucket_name)
    manifest = bucket.blob(f"{prefix}/manifest.csv")
    if manifest.exists():
        print(f"{folder}manifest.csv already exists")
        return
    lines, uploads = [], []
    for name, label, pixels in make():
        blob = bucket.blob(f"{prefix}/images/{name}.png")
        uploads.append((blob, cv2.imencode(".png", pixels)[1].tobytes()))
        lines.append(f"gs://{bucket_name}/{blob.name},{label}\n")
    _upload(uploads)
    # Written last: an existing manifest names only existing images.
    manifest.upload_from_string("".join(lines), content_type="text/csv")
    print(f"{len(lines)} images and manifest.csv are in {folder}")


def _upload(uploads: list[tuple[storage.Blob, bytes]]) -> None:
    def upload(blob: storage.Blob, data: bytes) -> None:
        try:
            # One request: the size is known, so the client begins no resumable upload.
            blob.upload_from_string(data, content_type="image/png")
        except Exception as error:
            raise RuntimeError(f"gs://{blob.bucket.name}/{blob.name}: {error}") from error

    with ThreadPoolExecutor(_THREADS) as threads:
        for _ in threads.map(upload, *zip(*uploads, strict=True)):
            pass
