"""The images below a folder, as instances of a batch prediction. Called by tasks only."""

import json
import mimetypes
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from google.cloud.exceptions import Forbidden, NotFound

from trellis.workflow.contracts.errors import NoRowsError, SourceError
from trellis.workflow.lookups import storage
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.prediction import DATE

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".dcm", ".dicom")
"""File name suffixes of the formats that the model's server reads."""


def folder(platform: Platform, images: str, interval_start: datetime | None, day: Any) -> str:
    """gs:// address of a run's folder, with a slash at the end. Raises SourceError.

    day: the date for {date} given when triggering, ISO 8601; None: the data interval's.
    """
    if DATE in images:
        first = str(day) if day else interval_start and interval_start.date().isoformat()
        if not first:
            raise SourceError(
                f"{images} (predict.images) is of a day, and this run has none: give `from`, or a "
                "logical date"
            )
        images = images.replace(DATE, first)
    elif day:
        raise SourceError(f"`from` is for a folder with {DATE} in it, not {images}")
    return f"{platform.uri(images).rstrip('/')}/"


Form = Callable[[str], Mapping[str, Any]]
"""The address of an image -> the instance that a model takes."""


def of_ours(column: str) -> Form:
    """The instances of our server, or a program's. column: of the images."""
    return lambda address: {column: address}


def of_automl(address: str) -> dict[str, Any]:
    """The instance of AutoML's model of images."""
    kind = mimetypes.guess_type(address)[0] or "image/jpeg"
    return {"content": address, "mimeType": kind}


def write_instances(
    platform: Platform, address: str, target: str, form: Form, daily: bool
) -> tuple[int, int]:
    """Write a line for each image below a folder; returns the numbers of images and other objects.

    Streams both the listing and the file; the file appears only when complete. daily: whether
    another day's folder may have images: without images it raises NoRowsError, else SourceError.
    Raises SourceError if the folder cannot be read.
    """
    counts = {"images": 0, "others": 0}
    try:
        found = _lines(storage.each_blob(platform, address), form, counts)
        first = next(found, None)
        if first is None:
            others = f", only {counts['others']:,} other objects" if counts["others"] else ""
            error = NoRowsError if daily else SourceError
            raise error(
                f"There are no images below {address} (predict.images){others}; their names end "
                f"with {', '.join(SUFFIXES)}"
            )
        with storage.blob(platform, target).open("w", content_type="application/json") as file:
            file.write(first)
            for line in found:
                file.write(line)
    except (NotFound, Forbidden) as error:
        raise SourceError(f"{address} (predict.images) cannot be read: {error.message}") from None
    return counts["images"], counts["others"]


def _lines(blobs: Iterable[Any], form: Form, counts: dict[str, int]) -> Iterator[str]:
    for blob in blobs:
        if blob.name.lower().endswith(SUFFIXES):
            counts["images"] += 1
            yield json.dumps(form(f"gs://{blob.bucket.name}/{blob.name}")) + "\n"
        elif not blob.name.endswith("/"):
            counts["others"] += 1
