"""Images and their masks, in two folders with equal names: which belong together, and what the
masks' pixels are.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trellis.new import signs
from trellis.new.described import DataError, Note
from trellis.workflow.spec.problems import GUIDE

MASK_FOLDER = re.compile(
    r"(.*[_ -])?(masks?|segmentations?|segs?|gts?|ground[_ -]?truths?|annotations?|contours?|rois?)"
    r"([_ -].*)?|labels?(tr|ts)?|seg(mentation)?(class|object).*"
)
IMAGE_FOLDER = re.compile(
    r"(.*[_ -])?(images?|imgs?|inputs?|originals?|jpegimages|scans?|pics?)(tr|ts)?"
)
MASK_FILE = re.compile(r"(.+?)[_ -](mask|seg|segmentation|gt|annotation|label)s?(_?\d+)?", re.I)
"""Names of folders, in lower case, and of files without their suffix: group 1 is the image's."""

MOST_VALUES = 32
"""More of them are no classes: shades of grey, or a number for each object."""

_BLACK = (0, "#000000")

Value = int | str


def folders_of(above: Path) -> tuple[list[str], list[str]]:
    """The names of the folders of images, and of masks or other annotations, in a folder."""
    names = sorted(path.name for path in above.iterdir() if path.is_dir())
    return (
        [name for name in names if IMAGE_FOLDER.fullmatch(name.lower())],
        [name for name in names if MASK_FOLDER.fullmatch(name.lower())],
    )


def pairs(folder: Path, found: Sequence[Path]) -> tuple[dict[Path, Path], list[Note]]:
    """The mask of each image, of FOLDER/images and FOLDER/masks, or of both in the folder of each
    split; and what is left out. Empty if there are none. found: all images of the folder.

    Raises DataError if most images have no mask of their name.
    """
    tops = sorted(path for path in folder.iterdir() if path.is_dir())
    of_both: dict[Path, Path] = {}
    alone: list[Path] = []
    for above in (folder, *(top for top in tops if signs.split_of(top.name))):
        images, masks = folders_of(above)
        if len(images) != 1 or len(masks) != 1:
            continue
        of_images, of_masks = (
            {_name(file, above / name): file for file in found if file.is_relative_to(above / name)}
            for name in (images[0], masks[0])
        )
        if not of_masks:
            continue  # annotations of another kind
        named = {_of_image(name, of_images): file for name, file in of_masks.items()}
        of_both |= {file: named[name] for name, file in of_images.items() if name in named}
        alone += [file for name, file in of_images.items() if name not in named]
    if alone and len(alone) >= len(of_both):
        raise DataError(
            f"{folder}: {len(alone):,} of {len(alone) + len(of_both):,} images have no mask of "
            f"their name, such as {alone[0]}; expected masks/NAME.png for images/NAME.png"
        )
    notes = [Note("left out", f"{len(alone):,} images without a mask")] if alone else []
    return of_both, notes


def _name(file: Path, below: Path) -> str:
    return file.relative_to(below).with_suffix("").as_posix()


def _of_image(name: str, images: Mapping[str, Path]) -> str:
    """The name of the image that a mask's name says."""
    found = MASK_FILE.fullmatch(name)
    return found.group(1) if found and name not in images and found.group(1) in images else name


def classes(where: str, files: Iterable[bytes]) -> tuple[tuple[str, Value], ...]:
    """Names for the values that some masks' pixels have, the background first. Raises DataError for
    what are no classes.
    """
    counts: Counter[Value] = Counter()
    for data in files:
        counts.update(_values(where, data))
        if len(counts) > MOST_VALUES:
            raise DataError(
                f"{where}: the masks have more than {MOST_VALUES} values; expected one for each "
                "class, such as 0 and 255. A JPEG file changes values: save masks as PNG; of "
                f"numbered objects, write one value for each class ({GUIDE})"
            )
    if len(counts) < 2:
        raise DataError(
            f"{where}: the masks that were looked at have one value, {min(counts, default='none')}:"
            " there is nothing to learn"
        )
    if len({type(value) for value in counts}) > 1:
        raise DataError(f"{where}: some masks are grey and some in colours: save all alike")
    frequent = counts.most_common(1)[0][0]
    background = next((value for value in _BLACK if value in counts), frequent)
    others = sorted(value for value in counts if value != background)
    names = ["object"] if len(others) == 1 else [f"class_{n}" for n in range(1, len(others) + 1)]
    return (("background", background), *zip(names, others, strict=True))


def _values(where: str, data: bytes) -> Counter[Value]:
    """Pixels of a mask by value: numbers of a grey one or one with a palette, else colours."""
    from PIL import Image

    found: Counter[Value] = Counter()
    try:
        opened = Image.open(io.BytesIO(data))
        if opened.mode in ("1", "L", "P"):
            grey: Any = opened if opened.mode == "P" else opened.convert("L")
            found.update({n: count for n, count in enumerate(grey.histogram()) if count})
            return found
        colours: Any = opened.convert("RGB").getcolors(MOST_VALUES + 1)
    except Exception as error:  # Pillow's readers raise struct.error, SyntaxError and others
        raise DataError(f"{where}: a mask that cannot be read: {error}") from None
    if colours is None:
        return Counter({f"#{n:06x}": 1 for n in range(MOST_VALUES + 1)})
    if all(red == green == blue for _, (red, green, blue) in colours):
        return Counter({red: count for count, (red, *_) in colours})
    return Counter(
        {f"#{red:02x}{green:02x}{blue:02x}": count for count, (red, green, blue) in colours}
    )
