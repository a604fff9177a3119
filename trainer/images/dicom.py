"""DICOM files: what the header says of the pixels, and the values of one frame.

pydicom reads the elements that _TAGS names and no others, so that names, numbers and dates of
patients are not even in memory as such; messages never repeat what a header holds beside numbers of
pixels. Values are those after the modality's transformation (PS3.3, C.11.1): Hounsfield units of a
CT image. A window (C.11.2) is one of the scales of `scale`.
"""

import functools
import io
import logging
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from trainer.images.errors import ImageError
from trainer.images.losses import Loss
from trainer.images.scale import EIGHT_BITS, Ends
from trainer.images.tiff import Samples

# PS3.10, 7.1: the file's own header is explicit VR little endian, whatever follows.
_PREFIX, _PLACE, _META = b"DICM", 128, 4096
_SYNTAX = re.compile(rb"\x02\0\x10\0UI..([0-9.]+)", re.DOTALL)

# Transfer syntaxes (PS3.5, annex A) that pydicom reads alone or by Pillow's decoders.
_PLAIN = ("1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2")
_RLE = "1.2.840.10008.1.2.5"
_BY_PILLOW = (
    "1.2.840.10008.1.2.4.50",  # JPEG baseline
    "1.2.840.10008.1.2.4.90",  # JPEG 2000 without loss
    "1.2.840.10008.1.2.4.91",  # JPEG 2000
)

_INVERTED, _GREY, _PALETTE = "MONOCHROME1", ("MONOCHROME1", "MONOCHROME2"), "PALETTE COLOR"
_COLOURS = ("RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT")

_PALETTES = ("Red", "Green", "Blue")
_TAGS = [
    *("Rows", "Columns", "NumberOfFrames", "SamplesPerPixel", "PhotometricInterpretation"),
    *("PlanarConfiguration", "BitsAllocated", "BitsStored", "HighBit", "PixelRepresentation"),
    *("RescaleSlope", "RescaleIntercept", "ModalityLUTSequence"),
    *("WindowCenter", "WindowWidth", "VOILUTFunction"),
    *("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence"),
    *("BurnedInAnnotation", "ICCProfile"),
    *(f"{colour}PaletteColorLookupTableDescriptor" for colour in _PALETTES),
    *(f"{colour}PaletteColorLookupTableData" for colour in _PALETTES),
    *(f"Segmented{colour}PaletteColorLookupTableData" for colour in _PALETTES),
    *("PixelData", "ExtendedOffsetTable", "ExtendedOffsetTableLengths"),
]


@dataclass(frozen=True)
class Structure:
    """size: (width, height). frames: how many. deep: None if the values are those of 8 bits. lost:
    as Header's. profile: the ICC profile. inverted: whether the least value is white.
    """

    size: tuple[int, int]
    frames: int
    deep: Samples | None
    grey: bool
    inverted: bool
    lost: tuple[Loss, ...]
    profile: bytes | None


def is_dicom(data: bytes) -> bool:
    """Return whether the file begins as a DICOM file (PS3.10, 7.1)."""
    return data[_PLACE : _PLACE + len(_PREFIX)] == _PREFIX


def read(data: bytes) -> Structure:
    """What the header says. Raises ImageError if the image is none that is read."""
    dataset = _dataset(data, pixels=False)
    colours = _number(dataset, "SamplesPerPixel")
    photometric = str(dataset.get("PhotometricInterpretation"))
    grey, coloured = photometric in _GREY, photometric in (_PALETTE, *_COLOURS)
    if not (grey or coloured) or colours != (3 if photometric in _COLOURS else 1):
        raise ImageError(
            "a DICOM image of a photometric interpretation that is not read; save it as "
            "MONOCHROME1, MONOCHROME2, PALETTE COLOR, RGB or YBR"
        )
    signed = _number(dataset, "PixelRepresentation")
    bits = _number(dataset, "BitsStored")
    rescaled = grey and any(_is_rescaled(each) for each in _transformations(dataset))
    deep = None
    if photometric != _PALETTE and (bits > 8 or signed or rescaled):
        deep = Samples("i" if signed else "u", bits, 1 if grey else 3, rescaled=rescaled)
    return Structure(
        size=(_number(dataset, "Columns"), _number(dataset, "Rows")),
        frames=_frames(dataset),
        deep=deep,
        grey=grey,
        inverted=photometric == _INVERTED,
        lost=("annotations",) if dataset.get("BurnedInAnnotation") == "YES" else (),
        profile=dataset.get("ICCProfile"),
    )


@dataclass(frozen=True)
class Frame:
    """values: (h, w), or (h, w, 3) RGB. ends: what the file calls black and white. lost: beside
    Structure.lost.
    """

    values: np.ndarray
    ends: Ends
    lost: tuple[Loss, ...] = ()


class Frames:
    """Decodes frames of a file whose structure was read. Raises ImageError."""

    def __init__(self, data: bytes):
        self._dataset, self._syntax = _dataset(data, pixels=True), _syntax(data)
        if "PixelData" not in self._dataset:
            raise ImageError("a DICOM file without pixels, or with floats, which are not read")

    def read(self, index: int) -> Frame:
        """The values of a frame. Raises ImageError."""
        dataset = self._dataset
        values = self._stored(index)
        photometric, bits = dataset.PhotometricInterpretation, dataset.BitsStored
        if photometric == _PALETTE:
            return _of_palette(values, dataset)
        least = -(2 ** (bits - 1)) if dataset.PixelRepresentation else 0
        full = (float(least), float(least + 2**bits - 1))
        known = bits <= 16
        if photometric not in _GREY:
            return Frame(values, Ends(full if known else None))
        transformation = _transformation(dataset, index)
        if bits < 8 and least == 0 and not _is_rescaled(transformation):
            # As in TIFF files of few bits: the most that these hold is white.
            return Frame(np.rint(values * (255 / full[1])).astype(np.uint8), EIGHT_BITS)
        values, full = _modality(values, full, transformation)
        return Frame(values, Ends(full if known else None, _window(dataset, index)))

    def _stored(self, index: int) -> np.ndarray:
        """(h, w), or (h, w, 3): as in the file, YBR as RGB."""
        import pydicom.pixels

        if self._syntax in _BY_PILLOW:
            _check_size(self._dataset, index)
        try:
            decoder = pydicom.pixels.get_decoder(self._syntax)
            return decoder.as_array(self._dataset, index=index)[0]
        except Exception as error:  # its decoders raise errors of their own, and of libraries
            raise ImageError("corrupt or truncated DICOM image") from error


def _dataset(data: bytes, *, pixels: bool) -> Any:
    """The elements that are read; those of the pixels only if they are asked for."""
    import pydicom

    _be_silent()
    _syntax(data)
    try:
        return pydicom.dcmread(
            io.BytesIO(data), stop_before_pixels=not pixels, specific_tags=list(_TAGS)
        )
    except Exception as error:  # pydicom raises errors of struct, zlib and its own
        raise ImageError("a DICOM file with an unreadable header") from error


@functools.cache
def _be_silent() -> None:
    """Callers report faults themselves; warnings of pydicom repeat what a header holds."""
    import pydicom.config

    logging.getLogger("pydicom").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module=r"pydicom\b")
    pydicom.config.settings.reading_validation_mode = pydicom.config.IGNORE


def _syntax(data: bytes) -> str:
    """The transfer syntax. Raises ImageError if it is none that is read: a deflated file, too, has
    no bound for what it becomes.
    """
    import pydicom.uid

    found = _SYNTAX.search(data[:_META], _PLACE)
    if found is None:
        raise ImageError("a DICOM file that does not name its transfer syntax")
    syntax = found[1].decode()
    if syntax not in (*_PLAIN, _RLE, *_BY_PILLOW):
        raise ImageError(
            f"a DICOM file of transfer syntax {syntax} ({pydicom.uid.UID(syntax).name}), which is "
            "not read; decompress it, as `gdcmconv --raw` or `dcmdjpeg` do"
        )
    return syntax


def _number(dataset: Any, name: str) -> int:
    try:
        number = int(dataset[name].value)
    except (KeyError, TypeError, ValueError):
        number = -1
    if number < (0 if name == "PixelRepresentation" else 1):
        raise ImageError(f"a DICOM file without an image: its header has no usable {name}")
    return number


def _frames(dataset: Any) -> int:
    return _number(dataset, "NumberOfFrames") if dataset.get("NumberOfFrames") else 1


def _check_size(dataset: Any, index: int) -> None:
    """Raise ImageError if a compressed frame has another size than the header says: it would take
    any memory, or its rows would be torn.
    """
    import pydicom.encaps

    tables = (dataset.get("ExtendedOffsetTable"), dataset.get("ExtendedOffsetTableLengths"))
    try:
        frame = pydicom.encaps.get_frame(
            dataset.PixelData,
            index,
            number_of_frames=_frames(dataset),
            extended_offsets=tables if all(tables) else None,
        )
        size = Image.open(io.BytesIO(frame), formats=("JPEG", "JPEG2000")).size
    except Exception as error:  # as in Frames
        raise ImageError("corrupt or truncated DICOM image") from error
    if size != (dataset.Columns, dataset.Rows):
        raise ImageError("a DICOM image whose compressed frame has another size than its header")


def _of_palette(values: np.ndarray, dataset: Any) -> Frame:
    import pydicom.pixels

    try:
        colours = pydicom.pixels.apply_color_lut(values, dataset)
        bits = int(dataset.RedPaletteColorLookupTableDescriptor[2])
    except Exception as error:  # as in Frames
        raise ImageError("a DICOM image whose palette cannot be read") from error
    lost: tuple[Loss, ...] = ()
    if bits > 8:
        # As of TIFF files: writers make 16 bits of 8 in two ways.
        if ((colours % 257 != 0) & (colours % 256 != 0)).any():
            lost = ("palette",)
        colours = colours >> 8
    return Frame(colours.astype(np.uint8), EIGHT_BITS, lost)


def _of_groups(dataset: Any, index: int, name: str) -> Any:
    """The item of a functional group (PS3.3, C.7.6.16) for a frame; else the dataset itself, which
    has the same elements in a file of one frame.
    """
    frames = dataset.get("PerFrameFunctionalGroupsSequence") or []
    shared = dataset.get("SharedFunctionalGroupsSequence") or []
    for groups in (*frames[index : index + 1], *shared[:1]):
        if found := groups.get(name):
            return found[0]
    return dataset


def _transformation(dataset: Any, index: int) -> Any:
    """What has the slope and intercept of a frame, or a table in their place."""
    return _of_groups(dataset, index, "PixelValueTransformationSequence")


def _transformations(dataset: Any) -> list[Any]:
    frames = dataset.get("PerFrameFunctionalGroupsSequence") or [None]
    return [_transformation(dataset, index) for index in range(len(frames))]


def _slope(found: Any) -> tuple[float, float]:
    try:
        slope = float(found.get("RescaleSlope", 1) or 0)
        intercept = float(found.get("RescaleIntercept", 0) or 0)
    except (TypeError, ValueError) as error:
        raise ImageError("a DICOM image whose RescaleSlope or RescaleIntercept is none") from error
    if slope == 0 or not np.isfinite([slope, intercept]).all():
        raise ImageError(f"a DICOM image with a RescaleSlope of {slope:g}")
    return slope, intercept


def _is_rescaled(found: Any) -> bool:
    return bool(found.get("ModalityLUTSequence")) or _slope(found) != (1, 0)


def _modality(
    values: np.ndarray, full: tuple[float, float], found: Any
) -> tuple[np.ndarray, tuple[float, float]]:
    """Values and ends of the stored type -> the same in the unit of the modality."""
    import pydicom.pixels

    if found.get("ModalityLUTSequence"):
        try:
            bits = int(found.ModalityLUTSequence[0].LUTDescriptor[2])
            return pydicom.pixels.apply_modality_lut(values, found), (0.0, 2.0**bits - 1)
        except Exception as error:  # as in Frames
            raise ImageError("a DICOM image whose modality's table cannot be read") from error
    slope, intercept = _slope(found)
    if (slope, intercept) == (1, 0):
        return values, full
    low, high = sorted(slope * end + intercept for end in full)
    if slope.is_integer() and intercept.is_integer():
        return values.astype(np.int64) * int(slope) + int(intercept), (low, high)
    return values * slope + intercept, (low, high)


def _window(dataset: Any, index: int) -> tuple[float, float] | None:
    """The first window's ends (PS3.3, C.11.2.1.2 and C.11.2.1.3.2); None if there is none, or one
    that is no straight line.
    """
    found = _of_groups(dataset, index, "FrameVOILUTSequence")
    function = found.get("VOILUTFunction") or "LINEAR"
    try:
        center, width = (
            float(value if isinstance(value, str | int | float) else value[0])
            for value in (found.WindowCenter, found.WindowWidth)
        )
    except (AttributeError, IndexError, TypeError, ValueError):
        return None
    if function == "LINEAR_EXACT" and width > 0:
        return center - width / 2, center + width / 2
    if function == "LINEAR" and width > 1:
        return center - 0.5 - (width - 1) / 2, center - 0.5 + (width - 1) / 2
    return None
