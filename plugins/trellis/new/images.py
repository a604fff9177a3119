"""Images: a manifest described, and a folder of classes uploaded with its manifest."""

import csv
import dataclasses
import io
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from trellis.new import folders, manifests, masks
from trellis.new.described import DataError, Images, Note, Pictures, sampled
from trellis.new.shapes import HEADER, Shape, is_image, shape_of
from trellis.results.files import blob
from trellis.workflow.spec.problems import GUIDE

MANIFEST = "manifest.csv"

# Spread of the proportions of images, without the outer tenths: the largest over the smallest.
_SEVERAL_SHAPES = 1.2
# A TIFF's description may stand behind its pixels: of a local file all of it is read.
_LONGEST_TIFF = 256 * 1024 * 1024
_NO_IMAGE, _NOT_THERE = "is no image by its first bytes", "is not there"
_ML_USE = {"train": "training", "validation": "validation", "test": "test"}


class _Looked(NamedTuple):
    """An image of which the first bytes were read. name: its place. fault: why it has no shape."""

    name: str
    shape: Shape | None
    fault: str = ""

    @classmethod
    def of(cls, name: str, start: bytes, tail: bytes = b"") -> "_Looked":
        fault = "does not say its size near its start" if is_image(start) else _NO_IMAGE
        return cls(name, shape_of(start, tail), fault)


def describe(client: Any, address: str, several: bool = False) -> Images:
    """The manifest at a gs:// address, and the size of some of its images. Raises DataError.

    client: google.cloud.storage.Client. several: whether a line may have any number of labels; true
    in any case if lines differ in how many they have.
    """
    lines = list(manifests.lines_of(address, _content(client, address)))
    manifests.check(address, lines)
    several = several or len({len(line.after) for line in lines}) > 1
    grouped = not several and manifests.are_grouped(lines)
    contents = manifests.count(lines, several, grouped)
    of_masks = [label for label in contents.classes if manifests.is_address(label)]
    is_masks = len(of_masks) == len(contents.classes) > 0 and not several
    left_out = [
        Note("left out", f"{len(numbers):,} lines: {why}, as line {numbers[0]}")
        for why, numbers in contents.rejected.items()
    ]
    classes = {} if is_masks else dict(sorted(contents.classes.items()))
    if not contents.images or (len(classes) < 2 and not several and not is_masks):
        why = "; ".join(note.of for note in left_out)
        one = f"all {contents.examples:,} images are of one class" if classes else why
        raise DataError(f"{address} has nothing to learn: {one} ({GUIDE})")
    splits = all(line.ml_use for line in lines)
    uris = [line.fields[line.place or 0] for line in lines]
    found = of_column(lambda: client, address, sampled(uris))
    return dataclasses.replace(
        found,
        classes=classes,
        grouped=grouped,
        frozen=splits,
        several=several,
        count=len(contents.images),
        notes=(*left_out, *found.notes),
        masks=_masks_at(client, address, sampled(of_masks)) if is_masks else (),
    )


def _masks_at(
    client: Any, address: str, uris: Sequence[str]
) -> tuple[tuple[str, masks.Value], ...]:
    """The classes of the masks at some addresses. Raises DataError."""
    with ThreadPoolExecutor(8) as pool:
        return masks.classes(address, pool.map(lambda uri: _content(client, uri), uris))


def of_column(
    client_of: Callable[[], Any],
    name: str,
    addresses: Sequence[str],
    local: Pictures | None = None,
) -> Images:
    """What the images at some addresses of a column are like. Raises DataError if no run could use
    any of them.

    client_of: makes a google.cloud.storage.Client, for images that are not among the local ones.
    """
    looked = list(_of_local(local, set(addresses))) if local else []
    if others := sorted(set(addresses) - {image.name for image in looked}):
        client = client_of()
        with ThreadPoolExecutor(8) as pool:
            looked += pool.map(lambda uri: _look(client, uri), others)
    return Images(name, notes=tuple(_judge(name, looked)), **_together(looked))


def masks_of_column(
    client_of: Callable[[], Any],
    name: str,
    addresses: Sequence[str],
    local: Pictures | None = None,
) -> tuple[tuple[str, masks.Value], ...]:
    """The classes of the masks at some addresses of a column, as of_column has the images. Raises
    DataError.
    """
    if local is None:
        return _masks_at(client_of(), name, addresses)
    wanted = {*addresses}
    return masks.classes(name, (read() for address, read in local.each() if address in wanted))


def _of_local(local: Pictures, addresses: set[str]) -> Iterator[_Looked]:
    """The local images that will be at these addresses."""
    for address, read in local.each():
        if address in addresses:
            data = read()
            yield _Looked.of(address, data[:HEADER], data[HEADER:])
            addresses = addresses - {address}
        if not addresses:
            return


def upload(client: Any, folder: Path, address: str) -> int:
    """Upload the images of FOLDER/CLASS/..., or FOLDER/SPLIT/CLASS/..., or images and their masks,
    to a gs:// folder, and the manifest last; the number of images. Raises DataError as
    `folders.read`, and if a manifest exists.
    """
    from google.cloud.storage import transfer_manager

    found = folders.read(folder).images
    bucket, _, prefix = address.removeprefix("gs://").rstrip("/").partition("/")
    root = client.bucket(bucket)
    manifest = root.blob(f"{prefix}/{MANIFEST}")
    if manifest.exists():
        raise DataError(
            f"gs://{bucket}/{manifest.name} exists already, and stays as it is: name another "
            "folder. To append, upload these images to a folder of their own; a manifest may name "
            "images of several"
        )
    # Folders of classes go into one; images/ and masks/ stay what they are.
    inside = prefix if found[0].mask else f"{prefix}/images"
    places = {
        file: f"{inside}/{file.relative_to(folder).as_posix()}"
        for image in found
        for file in (image.file, image.mask)
        if file
    }
    pairs = [(str(file), root.blob(place)) for file, place in places.items()]
    results = transfer_manager.upload_many(pairs, worker_type=transfer_manager.THREAD)
    failed = next((result for result in results if isinstance(result, Exception)), None)
    if failed is not None:
        raise DataError(f"{folder} cannot be uploaded: {failed}")
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for image in found:
        ml_use = [] if image.split is None else [_ML_USE[image.split]]
        label = f"gs://{bucket}/{places[image.mask]}" if image.mask else image.label
        lines.writerow([*ml_use, f"gs://{bucket}/{places[image.file]}", label])
    # Written last: a manifest names images that are there.
    manifest.upload_from_string(text.getvalue(), content_type="text/csv")
    return len(found)


def of_folder(folder: Path, address: str) -> Images:
    """The description of a local folder, as it will be after its upload. Raises DataError."""
    found = folders.read(folder)
    looked = []
    for image in sampled(found.images):
        with image.file.open("rb") as opened:
            start, tail = opened.read(HEADER), opened.read(_LONGEST_TIFF)
            looked.append(_Looked.of(str(image.file), start, tail))
    notes = [*found.notes, *_judge(str(folder), looked)]
    splits = Counter(image.split for image in found.images if image.split)
    if splits:
        of = ", ".join(f"{name} {count:,}" for name, count in splits.items())
        notes.append(Note("the folders' splits are kept (ML_USE)", of))
    of_masks = [image.mask for image in found.images if image.mask]
    classes = Counter(image.label for image in found.images if not image.mask)
    read = (file.read_bytes() for file in sampled(of_masks))
    known = masks.classes(str(folder), read) if of_masks else ()
    return Images(
        address,
        dict(sorted(classes.items())),
        count=len(found.images),
        frozen=bool(splits),
        notes=tuple(notes),
        masks=known,
        **_together(looked),
    )


def _content(client: Any, address: str) -> bytes:
    from google.api_core.exceptions import GoogleAPICallError

    try:
        content: bytes = blob(client, address).download_as_bytes()
        return content
    except (GoogleAPICallError, ValueError) as error:
        raise DataError(f"{address} cannot be read: {error}") from None


def _look(client: Any, uri: str) -> _Looked:
    from google.api_core.exceptions import Forbidden, GoogleAPICallError, NotFound

    try:
        return _Looked.of(uri, blob(client, uri).download_as_bytes(end=HEADER - 1))
    except NotFound:
        return _Looked(uri, None, _NOT_THERE)
    except Forbidden:
        return _Looked(uri, None, "may not be read by you")
    except (GoogleAPICallError, ValueError) as error:
        return _Looked(uri, None, f"cannot be read ({error})")


def _judge(where: str, looked: Sequence[_Looked]) -> list[Note]:
    """What a look at some images says of all. Raises DataError if no run could use any of them."""
    bad = [image for image in looked if image.shape is None]
    unusable = [image for image in bad if image.fault in (_NO_IMAGE, _NOT_THERE)]
    if bad and len(unusable) == len(looked):
        raise DataError(
            f"{where}: all {len(bad)} images that were looked at are unusable: {bad[0].name} "
            f"{bad[0].fault}"
        )
    notes = [
        Note(
            f"images of which each {fault}",
            f"{len(of)} of {len(looked)} that were looked at, such as {of[0]}",
        )
        for fault in sorted({image.fault for image in bad})
        if (of := [image.name for image in bad if image.fault == fault])
    ]
    deep = Counter(image.shape.bits for image in looked if image.shape and image.shape.bits > 8)
    notes += [
        Note("deeper than 8 bits", f"{count} of {len(looked)} images have {bits} bits")
        for bits, count in deep.items()
    ]
    several = Counter(
        image.shape.pages for image in looked if image.shape and image.shape.pages > 1
    )
    notes += [
        Note("several pages or frames", f"{count} of {len(looked)} images have {pages}")
        for pages, count in sorted(several.items())
    ]
    return notes


def _together(looked: Iterable[_Looked]) -> dict[str, Any]:
    """The size, channels, bits, pages and resize to train with, as Images has them.

    The size is the median of the shorter sides, from 8 to 224 pixels; one channel is enough if all
    images are grey; images of several shapes keep their proportions.
    """
    known = [shape for _, shape, _ in looked if shape and shape.height and shape.width]
    if not known:
        return {}
    side = int(statistics.median(min(shape.height, shape.width) for shape in known))
    ratios = sorted(shape.height / shape.width for shape in known)
    low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
    return {
        "size": max(8, min(side, 224)),
        "bits": max(shape.bits for shape in known),
        "pages": max(shape.pages for shape in known),
        "channels": 1 if all(shape.channels == 1 for shape in known) else 3,
        "resize": "letterbox" if high / low > _SEVERAL_SHAPES else "stretch",
    }
