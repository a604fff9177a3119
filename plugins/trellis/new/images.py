"""Images: a manifest described, and a folder of classes uploaded with its manifest."""

import csv
import io
import statistics
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from trellis.new import folders
from trellis.new.described import DataError, Images, Note
from trellis.new.shapes import HEADER, Shape, shape_of
from trellis.results.files import blob
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import image_manifest
from trellis.workflow.spec.split import GroupSplit

MANIFEST = "manifest.csv"

_SAMPLED = 40
# Spread of the proportions of images, without the outer tenths: the largest over the smallest.
_SEVERAL_SHAPES = 1.2
# A TIFF's description may stand behind its pixels: of a local file all of it is read.
_LONGEST_TIFF = 256 * 1024 * 1024
_ML_USE = {"train": "training", "validation": "validation", "test": "test"}


def describe(client: Any, address: str, several: bool = False) -> Images:
    """The manifest at a gs:// address, and the size of some of its images. Raises DataError.

    client: google.cloud.storage.Client. several: whether a line may have any number of labels; true
    in any case if lines differ in how many they have.
    """
    text = _blob_text(client, address)
    try:
        lines = list(image_manifest.lines(address, io.StringIO(text, newline="")))
        several = several or len({len(line.fields) - (line.place or 0) for line in lines}) > 1
        contents = image_manifest.count(address, lines, several=several)
    except SourceError as error:
        raise DataError(str(error)) from None
    named = [(fields, place) for _, fields, place in lines if place is not None]
    grouped = not several and all(
        len(fields) > 2 and fields[2] and not place for fields, place in named
    )
    if grouped:
        try:
            contents = image_manifest.count(address, lines, GroupSplit(by="group"))
        except SourceError:  # too few groups
            grouped = False
    splits = all(line.ml_use for line in lines)
    uris = [fields[place] for fields, place in named]
    sampled = uris[:: max(1, len(uris) // _SAMPLED)][:_SAMPLED]
    with ThreadPoolExecutor(8) as pool:
        headers = list(pool.map(lambda uri: _header(client, uri), sampled))
    found = _together(map(shape_of, headers))
    return Images(
        address,
        dict(sorted(contents.classes.items())),
        grouped=grouped,
        frozen=splits,
        several=several,
        count=contents.examples,
        **found,
    )


def upload(client: Any, folder: Path, address: str) -> int:
    """Upload the images of FOLDER/CLASS/..., or FOLDER/SPLIT/CLASS/..., to a gs:// folder, and the
    manifest last; the number of images. Raises DataError as `folders.read`, and if a manifest
    exists.
    """
    from google.cloud.storage import transfer_manager

    found = folders.read(folder).images
    bucket, _, prefix = address.removeprefix("gs://").rstrip("/").partition("/")
    root = client.bucket(bucket)
    manifest = root.blob(f"{prefix}/{MANIFEST}")
    if manifest.exists():
        raise DataError(f"gs://{bucket}/{manifest.name} exists already")
    pairs = [
        (str(image.file), root.blob(f"{prefix}/images/{image.file.relative_to(folder).as_posix()}"))
        for image in found
    ]
    results = transfer_manager.upload_many(pairs, worker_type=transfer_manager.THREAD)
    failed = next((result for result in results if isinstance(result, Exception)), None)
    if failed is not None:
        raise DataError(f"{folder} cannot be uploaded: {failed}")
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for image, (_, uploaded) in zip(found, pairs, strict=True):
        ml_use = [] if image.split is None else [_ML_USE[image.split]]
        lines.writerow([*ml_use, f"gs://{bucket}/{uploaded.name}", image.label])
    # Written last: a manifest names images that are there.
    manifest.upload_from_string(text.getvalue(), content_type="text/csv")
    return len(found)


def of_folder(folder: Path, address: str) -> Images:
    """The description of a local folder, as it will be after its upload. Raises DataError."""
    found = folders.read(folder)
    sampled = found.images[:: max(1, len(found.images) // _SAMPLED)][:_SAMPLED]
    shapes = []
    for image in sampled:
        with image.file.open("rb") as opened:
            shapes.append(shape_of(opened.read(HEADER), opened.read(_LONGEST_TIFF)))
    notes = list(found.notes)
    if unknown := [str(i.file) for i, shape in zip(sampled, shapes, strict=True) if shape is None]:
        notes.append(
            Note(
                "no images that are known, by their first bytes",
                f"{len(unknown)} of {len(sampled)} that were looked at, such as {unknown[0]}",
            )
        )
    deep = Counter(shape.bits for shape in shapes if shape and shape.bits > 8)
    notes += [
        Note("deeper than 8 bits", f"{count} of {len(sampled)} images have {bits} bits")
        for bits, count in deep.items()
    ]
    splits = Counter(image.split for image in found.images if image.split)
    if splits:
        of = ", ".join(f"{name} {count:,}" for name, count in splits.items())
        notes.append(Note("the folders' splits are kept (ML_USE)", of))
    return Images(
        address,
        dict(sorted(Counter(image.label for image in found.images).items())),
        count=len(found.images),
        frozen=bool(splits),
        notes=tuple(notes),
        **_together(shapes),
    )


def _blob_text(client: Any, address: str) -> str:
    from google.api_core.exceptions import GoogleAPICallError

    try:
        return blob(client, address).download_as_bytes().decode("utf-8-sig")
    except (GoogleAPICallError, UnicodeDecodeError, ValueError) as error:
        raise DataError(f"{address} cannot be read: {error}") from None


def _header(client: Any, uri: str) -> bytes:
    """The start of an image; nothing for one that cannot be read, which the export will name."""
    from google.api_core.exceptions import GoogleAPICallError

    try:
        found: bytes = blob(client, uri).download_as_bytes(end=HEADER - 1)
    except (GoogleAPICallError, ValueError):
        return b""
    return found


def _together(shapes: Iterable[Shape | None]) -> dict[str, Any]:
    """The size, channels and resize to train with, as Images has them.

    The size is the median of the shorter sides, from 8 to 224 pixels; one channel is enough if all
    images are grey; images of several shapes keep their proportions.
    """
    known = [shape for shape in shapes if shape and shape.height and shape.width]
    if not known:
        return {}
    side = int(statistics.median(min(shape.height, shape.width) for shape in known))
    ratios = sorted(shape.height / shape.width for shape in known)
    low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
    return {
        "size": max(8, min(side, 224)),
        "channels": 1 if all(shape.channels == 1 for shape in known) else 3,
        "resize": "letterbox" if high / low > _SEVERAL_SHAPES else "stretch",
    }
