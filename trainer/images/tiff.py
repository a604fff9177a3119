"""TIFF files: how their samples are stored, and deep samples, of more than 8 bits.

tifffile reads the structure, and samples without compression; OpenCV decompresses. (tifffile has
no bound for what a compressed strip becomes, and knows few methods without its codecs.)
"""

import io
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import tifffile
from tifffile import COMPRESSION, PHOTOMETRIC, PLANARCONFIG, SAMPLEFORMAT, TiffPage

from trainer.images.errors import ImageError
from trainer.images.losses import Loss
from trainer.images.scale import Ends

_MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

_GREY = (PHOTOMETRIC.MINISBLACK, PHOTOMETRIC.MINISWHITE)
_KINDS: dict[int, str] = {SAMPLEFORMAT.UINT: "u", SAMPLEFORMAT.INT: "i", SAMPLEFORMAT.IEEEFP: "f"}
_STRAIGHT_ALPHA, _UNSPECIFIED = 2, 0
_ORIENTATION, _INNER, _PROFILE = 274, 330, 34675
_REDUCED = 1
# Pages that are looked at for being thumbnails of the first.
_PAGES = 8

# Callers report faults of a file themselves.
logging.getLogger("tifffile").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Samples:
    """Layout of one pixel. kind: u, i or f, NumPy's letters. bits: of each sample. colours: 1 for
    grey, or 3. alpha: True if another sample holds the opacity. rescaled: True if a DICOM header
    gives the values a unit.
    """

    kind: str
    bits: int
    colours: int
    alpha: bool = False
    rescaled: bool = False

    @property
    def pixel_bytes(self) -> int:
        """Memory of a decoded pixel."""
        return -(-self.bits // 8) * (self.colours + self.alpha)

    @property
    def ends(self) -> Ends:
        """The ends of the type."""
        if self.kind == "f" or self.bits > 16:
            return Ends(None)
        least = -(2 ** (self.bits - 1)) if self.kind == "i" else 0
        return Ends((least, least + 2**self.bits - 1))

    def __str__(self) -> str:
        kinds = {"u": "", "i": "signed ", "f": "float "}
        rescaled = " and a rescale slope" if self.rescaled else ""
        return f"{self.bits} {kinds[self.kind]}bits per channel{rescaled}"


@dataclass(frozen=True)
class Structure:
    """size: (width, height) as stored. pages: how many, reduced copies left out. deep: None if 8
    bits hold all samples. lost: as Header's. profile: the ICC profile. layout: channels, bits and
    colours in words.
    """

    size: tuple[int, int]
    pages: int
    deep: Samples | None
    lost: tuple[Loss, ...]
    profile: bytes | None
    layout: str


def is_tiff(data: bytes) -> bool:
    """Return whether the file begins as a TIFF or BigTIFF file."""
    return data[:4] in _MAGIC


def read(data: bytes) -> Structure:
    """The structure of a file's first page. Raises ImageError if it is none that is read."""
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            return _structure(file)
    except ImageError:
        raise
    except Exception as error:  # tifffile raises struct.error, IndexError and others
        raise ImageError(f"unreadable image header: {error}") from error


def places(data: bytes, indexes: Sequence[int]) -> Sequence[int]:
    """Places in the file of pages of the first one's form, counted without reduced copies.

    Raises ImageError if a page is of another size or type, as the header that was read is of the
    first.
    """
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            pages = _pages(file)
            if max(indexes) >= len(pages):
                raise ImageError(
                    "a TIFF file of ImageJ with all its planes as one page, of which only the "
                    "first is read; save each plane as a page"
                )
            found = [pages[index] for index in indexes]
            form = _form(_page(file, 0))
            if any(_form(_page(file, place)) != form for place in found):
                raise ImageError(
                    "a TIFF file whose pages differ in size or type; save the one that is the "
                    "image as a file"
                )
    except ImageError:
        raise
    except Exception as error:  # as in read
        raise ImageError("corrupt or truncated TIFF image") from error
    return found


def _form(page: TiffPage) -> tuple[object, ...]:
    return (
        *(page.imagewidth, page.imagelength, page.samplesperpixel, page.bitspersample),
        *(page.sampleformat, page.photometric, page.planarconfig, tuple(page.extrasamples)),
    )


def decode(data: bytes, samples: Samples, place: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Upright samples of the page at a place, of the form that was read: (h, w) or (h, w, 3) RGB,
    and alpha (h, w). 0 is black. Raises ImageError.
    """
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            page = _page(file, place)
            if page.compression == COMPRESSION.NONE:
                found = upright(_uncompressed(page, len(data)), _tag(page, _ORIENTATION) or 1)
            else:
                found = _decompressed(data, page, place)
            inverted = page.photometric == PHOTOMETRIC.MINISWHITE
    except ImageError:
        raise
    except Exception as error:  # as in read
        raise ImageError("corrupt or truncated TIFF image") from error
    if found.ndim == 2:
        found = found[..., np.newaxis]
    if not found.size or found.shape[-1] < samples.colours + samples.alpha:
        raise ImageError("corrupt or truncated TIFF image")
    colours = found[..., : samples.colours]
    if inverted:
        colours = np.invert(colours)
    if samples.colours == 1:
        colours = colours[..., 0]
    return colours, found[..., samples.colours] if samples.alpha else None


def _page(file: tifffile.TiffFile, place: int) -> TiffPage:
    page = file.pages[place]
    assert isinstance(page, TiffPage)
    return page


def _structure(file: tifffile.TiffFile) -> Structure:
    page = _page(file, 0)
    if not (isinstance(page.imagewidth, int) and isinstance(page.imagelength, int)):
        raise ImageError("unreadable image header: a TIFF file without a width or a height")
    if page.imagedepth > 1:
        raise ImageError(f"a TIFF volume of {page.imagedepth} planes; save one plane as an image")
    # ImageJ writes a large stack as one page and says so in its description.
    stack = (file.imagej_metadata or {}).get("images", 1) if file.is_imagej else 1
    pages = max(len(_pages(file)), int(stack))
    if int(page.subfiletype) & _REDUCED and (pages > 1 or _tag(page, _INNER) is not None):
        raise ImageError(
            "a TIFF file whose first page is a reduced copy of another one, as in a camera's raw "
            "file; save the image itself as the first page"
        )
    lost: list[Loss] = []
    extra = tuple(int(kind) for kind in page.extrasamples)
    if len(extra) > (extra[:1] != (_UNSPECIFIED,)):
        lost.append("channels")
    if page.photometric == PHOTOMETRIC.PALETTE and page.colormap is not None:
        entries = page.colormap.astype(int)
        # Of 8 bits, as the two ways of writers to make 16 of them have it.
        if ((entries % 257 != 0) & (entries % 256 != 0)).any():
            lost.append("palette")
    return Structure(
        size=(page.imagewidth, page.imagelength),
        pages=pages,
        deep=_deep(page, extra),
        lost=tuple(lost),
        profile=_tag(page, _PROFILE),
        layout=f"{page.samplesperpixel} channels of {page.bitspersample} bits "
        f"({PHOTOMETRIC(page.photometric).name})",
    )


def _deep(page: TiffPage, extra: tuple[int, ...]) -> Samples | None:
    kind = _KINDS.get(int(page.sampleformat or SAMPLEFORMAT.UINT))
    bits = page.bitspersample
    if bits <= 8 and kind == "u":
        return None
    name = PHOTOMETRIC(page.photometric).name
    if kind is None or page.dtype is None or page.dtype.itemsize * 8 != bits:
        raise ImageError(
            f"a TIFF image with {bits} bits per channel of a kind that is not read; save it with "
            "8, 16 or 32 bits, or as floats"
        )
    if page.photometric not in (*_GREY, PHOTOMETRIC.RGB):
        raise ImageError(f"a TIFF image of {bits}-bit {name}; save it as grey or RGB")
    colours = 3 if page.photometric == PHOTOMETRIC.RGB else 1
    if page.photometric == PHOTOMETRIC.MINISWHITE and kind != "u":
        raise ImageError("a TIFF image whose 0 is white, with negative values or floats")
    if page.samplesperpixel != colours + len(extra) or extra not in (
        (),
        (_STRAIGHT_ALPHA,),
        *(((_UNSPECIFIED,),) if colours == 3 else ()),
    ):
        raise ImageError(
            f"a TIFF image of {page.samplesperpixel} channels; expected 1 of grey or 3 of colour, "
            "and alpha that is not multiplied in"
        )
    if page.planarconfig == PLANARCONFIG.SEPARATE and page.compression != COMPRESSION.NONE:
        # OpenCV takes the planes for pixels.
        raise ImageError("a compressed TIFF image with a plane for each channel; save it otherwise")
    return Samples(kind, bits, colours, extra == (_STRAIGHT_ALPHA,))


def _pages(file: tifffile.TiffFile) -> Sequence[int]:
    """Places of the pages that are no reduced copies; of many pages, all of them. The first counts
    in any case.
    """
    count = len(file.pages)
    if count > _PAGES:
        return range(count)
    others = range(1, count)
    return [
        0,
        *(at for at in others if not int(getattr(file.pages[at], "subfiletype", 0)) & _REDUCED),
    ]


def _tag(page: TiffPage, code: int) -> Any:
    """A tag's value; None if there is none."""
    values = {tag.code: tag.value for tag in page.tags if tag.code == code}
    return values.get(code)


def _uncompressed(page: TiffPage, size: int) -> np.ndarray:
    """(h, w) or (h, w, channels)."""
    ends = map(sum, zip(page.dataoffsets, page.databytecounts, strict=True))
    if max(ends) > size or sum(page.databytecounts) < page.nbytes:
        raise ImageError("corrupt or truncated TIFF image")
    found = page.asarray()
    if page.axes.startswith("S"):
        found = np.moveaxis(found, 0, -1)
    return np.ascontiguousarray(found).astype(found.dtype.newbyteorder("="), copy=False)


def _decompressed(data: bytes, page: TiffPage, place: int) -> np.ndarray:
    """Decompress a page with OpenCV; upright."""
    try:
        content = np.frombuffer(data, np.uint8)
        if place == 0:
            found = cv2.imdecode(content, cv2.IMREAD_UNCHANGED)
        else:
            flags, part = cv2.IMREAD_UNCHANGED, (place, place + 1)
            found = next(iter(cv2.imdecodemulti(content, flags, range=part)[1]), None)
    except cv2.error as error:
        raise ImageError(f"corrupt TIFF image: {error.err}") from error
    if found is None or found.dtype != page.dtype:
        method = COMPRESSION(page.compression).name
        raise ImageError(
            f"a TIFF image that cannot be decompressed ({method}): corrupt, or a method that is "
            "not read; save it without compression"
        )
    if found.ndim == 2 or found.shape[2] == 1:
        return found
    order = [2, 1, 0, 3][: found.shape[2]]
    return found[..., order]


def upright(found: np.ndarray, orientation: int) -> np.ndarray:
    """Turn the pixels upright by the tag Orientation."""
    if orientation >= 5:
        found = np.swapaxes(found, 0, 1)
    if orientation in (3, 4, 7, 8):
        found = found[::-1]
    if orientation in (2, 3, 6, 7):
        found = found[:, ::-1]
    return np.ascontiguousarray(found)
