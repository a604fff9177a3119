"""Images: a manifest described, and a folder of classes uploaded with its manifest."""

import csv
import io
import statistics
import struct
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from trellis.new.described import DataError, Images
from trellis.results.files import blob
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import image_manifest
from trellis.workflow.spec.split import GroupSplit

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
MANIFEST = "manifest.csv"

_SAMPLED = 40
# Of the proportions of images, without the outer tenths: the largest over the smallest.
_SEVERAL_SHAPES = 1.2
# A JPEG's size may stand behind a thumbnail and a colour profile.
_HEADER = 256 * 1024


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
    found = _shape(headers)
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
    """Upload FOLDER/CLASS/... to a gs:// folder, and the manifest last; the number of images.

    Raises DataError if there are no images in folders of classes, or a manifest already.
    """
    from google.cloud.storage import transfer_manager

    found = list(_of_classes(folder))
    if not found:
        raise DataError(f"{folder} has no images in folders of classes: {folder}/CLASS/IMAGE.png")
    bucket, _, prefix = address.removeprefix("gs://").rstrip("/").partition("/")
    root = client.bucket(bucket)
    manifest = root.blob(f"{prefix}/{MANIFEST}")
    if manifest.exists():
        raise DataError(f"gs://{bucket}/{manifest.name} exists already")
    pairs = [
        (str(file), root.blob(f"{prefix}/images/{file.relative_to(folder).as_posix()}"))
        for _, file in found
    ]
    results = transfer_manager.upload_many(pairs, worker_type=transfer_manager.THREAD)
    failed = next((result for result in results if isinstance(result, Exception)), None)
    if failed is not None:
        raise DataError(f"{folder} cannot be uploaded: {failed}")
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for (class_, _), (_, image) in zip(found, pairs, strict=True):
        lines.writerow([f"gs://{bucket}/{image.name}", class_])
    # Written last: a manifest names images that are there.
    manifest.upload_from_string(text.getvalue(), content_type="text/csv")
    return len(found)


def of_folder(folder: Path, address: str) -> Images:
    """The description of a local folder, as it will be after its upload. Raises DataError."""
    found = list(_of_classes(folder))
    classes: dict[str, int] = {}
    for class_, _ in found:
        classes[class_] = classes.get(class_, 0) + 1
    if len(classes) < 2:
        raise DataError(
            f"{folder} has images of {len(classes)} classes; expected two or more folders, "
            f"{folder}/CLASS/IMAGE.png"
        )
    headers = []
    for _, file in found[:: max(1, len(found) // _SAMPLED)][:_SAMPLED]:
        with file.open("rb") as opened:
            headers.append(opened.read(_HEADER))
    return Images(address, classes, count=len(found), **_shape(headers))


def _of_classes(folder: Path) -> Iterator[tuple[str, Path]]:
    """(class, file) of each image, in order."""
    for file in sorted(folder.glob("*/**/*")):
        if file.suffix.lower() in SUFFIXES and file.is_file():
            yield file.relative_to(folder).parts[0], file


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
        found: bytes = blob(client, uri).download_as_bytes(end=_HEADER - 1)
    except (GoogleAPICallError, ValueError):
        return b""
    return found


def _shape(headers: Iterable[bytes]) -> dict[str, Any]:
    """The size, channels and resize to train with, as Images has them.

    The size is the median of the shorter sides, from 8 to 224 pixels; one channel is enough if all
    images are grey; images of several shapes keep their proportions.
    """
    known = [shape for shape in map(shape_of, headers) if shape]
    if not known:
        return {}
    side = int(statistics.median(min(height, width) for height, width, _ in known))
    shapes = sorted(height / width for height, width, _ in known)
    low, high = shapes[len(shapes) // 10], shapes[-1 - len(shapes) // 10]
    return {
        "size": max(8, min(side, 224)),
        "channels": 1 if all(channels == 1 for *_, channels in known) else 3,
        "resize": "letterbox" if high / low > _SEVERAL_SHAPES else "stretch",
    }


def shape_of(data: bytes) -> tuple[int, int, int] | None:
    """(height, width, channels) of the PNG or JPEG file that begins so; None for another one.

    PNG: https://www.w3.org/TR/png-3/#11IHDR. JPEG: ITU-T T.81, B.2.2.
    """
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) > 25:
        width, height, _, color = struct.unpack(">IIBB", data[16:26])
        return height, width, 1 if color in (0, 4) else 3
    if data[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 10 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        # Start of frame; C4, C8 and CC are other segments.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width, channels = struct.unpack(">HHB", data[at + 5 : at + 10])
            return height, width, 1 if channels == 1 else 3
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None
