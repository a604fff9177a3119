"""Uploads real images to the bucket: scikit-learn's bundled digits, as a lab would have them.

Runs in the trainer environment (scikit-learn and OpenCV live there) with the variables of
`local_gcp env`, through Google's Storage client. Writes below gs://BUCKET/digits/:

images/DIGIT-NUMBER.png   1,797 greyscale pictures of 8x8 pixels (UCI Optical Recognition of
                          Handwritten Digits, test part; as shipped with scikit-learn)
manifest.csv              gs://...png,label: the format that Vertex AI image datasets import

    python -m demo.digits_data gs://BUCKET/digits/
"""

import io
import sys

import cv2
import numpy as np
from google.cloud import storage
from google.cloud.storage import transfer_manager
from sklearn.datasets import load_digits


def main(folder: str) -> None:
    bucket_name, _, prefix = folder.removeprefix("gs://").rstrip("/").partition("/")
    bucket = storage.Client().bucket(bucket_name)
    manifest = bucket.blob(f"{prefix}/manifest.csv")
    if manifest.exists():
        print(f"{folder}manifest.csv already exists")
        return
    digits = load_digits()
    lines, uploads = [], []
    for number, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        # The source counts 0 to 16 inked pixels of each 4x4 block.
        png = cv2.imencode(".png", np.round(pixels * (255 / 16)).astype(np.uint8))[1].tobytes()
        blob = bucket.blob(f"{prefix}/images/{label}-{number:04d}.png")
        uploads.append((blob, png))
        lines.append(f"gs://{bucket_name}/{blob.name},{label}\n")
    _upload(uploads)
    # Written last: an existing manifest names only existing images.
    manifest.upload_from_string("".join(lines), content_type="text/csv")
    print(f"{len(lines)} images and manifest.csv are in {folder}")


def _upload(uploads: list[tuple[storage.Blob, bytes]]) -> None:
    results = transfer_manager.upload_many(
        [(io.BytesIO(data), blob) for blob, data in uploads],
        worker_type=transfer_manager.THREAD,
        max_workers=8,
        upload_kwargs={"content_type": "image/png"},
    )
    for (blob, _), result in zip(uploads, results, strict=True):
        if isinstance(result, Exception):
            raise RuntimeError(f"gs://{blob.bucket.name}/{blob.name}: {result}") from result


if __name__ == "__main__":
    main(sys.argv[1])
