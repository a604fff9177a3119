"""Reads the header of an image file: format, size, pixels, and what the file holds beside them.

Nothing is decoded. Pillow reads it, of a TIFF file trainer.images.tiff, of a DICOM file
trainer.images.dicom.
"""

import functools
import io
from contextlib import suppress
from dataclasses import dataclass, replace

from PIL import ExifTags, Image, ImageCms, UnidentifiedImageError

from trainer.images import dicom, others, tiff
from trainer.images.errors import ImageError
from trainer.images.losses import Loss
from trainer.images.tiff import Samples

# Formats that Pillow and OpenCV read. Vertex AI imports JPEG, PNG, GIF, BMP, and ICO, which OpenCV
# cannot read.
_BY_PILLOW = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF")
FORMATS = (*_BY_PILLOW, "DICOM")

# Pillow's names of pixel types that OpenCV decodes to 8 bits per channel. Not here: 32-bit
# integers, floats, Lab.
_PIXEL_TYPES = {"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"}
_GREY = {"1", "L", "LA"}
# IHDR's colour types: https://www.w3.org/TR/png-3/#11IHDR
_PNG_DEPTH, _PNG_TYPE, _PNG_GREY, _PNG_ALPHA = 24, 25, (0, 4), (4, 6)

# Pillow's limit: https://pillow.readthedocs.io/en/stable/reference/Image.html
MOST_PIXELS = 2 * (Image.MAX_IMAGE_PIXELS or 0)

# EXIF's orientations that swap height and width.
_TURNED = (5, 6, 7, 8)

# Values of sRGB, which PNG files may spell out: https://www.w3.org/TR/png-3/#11cHRM
_GAMMA = 1 / 2.2
_CHROMATICITY = (0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06)
_NEAR = 0.01
# A chunk's name, and the codes of sRGB's primaries and transfer function (ITU-T H.273).
_CODE_POINTS, _SRGB_CODE_POINTS = b"cICP", b"\x01\x0d"
_BEFORE_PIXELS = 4096
# An application's extension: https://www.color.org/icc1v42.pdf, annex B.6
_GIF_PROFILE = b"ICCRGBG1012"
# BITMAPV5HEADER's colour space, in 14 bytes of file header and 56 of its own: a profile in the file
# (MBED) or beside it (LINK).
_BMP_COLOURS, _BMP_PROFILES = slice(70, 74), (b"DEBM", b"KNIL")
_EXIF_ADOBE_RGB, _DCF_ADOBE_RGB = 2, "R03"


@dataclass(frozen=True)
class Header:
    """format: Pillow's name, or DICOM. size: (width, height) before it is turned upright.

    opened: by Pillow; None of a DICOM file and of a TIFF file with deep samples. deep: the samples
    of a file with more than 8 bits per channel; None if all are kept in 8. lost: what the model is
    not given. pages: of a TIFF file, or a DICOM file's frames. inverted: whether the least value
    of a DICOM file is white.
    """

    format: str
    size: tuple[int, int]
    opened: Image.Image | None
    deep: Samples | None
    grey: bool
    lost: tuple[Loss, ...] = ()
    pages: int = 1
    inverted: bool = False

    def upright(self, decoded: tuple[int, int]) -> tuple[int, int]:
        """(height, width) of the file when it is turned upright. decoded: that of its pixels, which
        a JPEG may have fewer of.
        """
        width, height = self.size
        if decoded in ((height, width), (width, height)):
            return decoded
        # Only Pillow's files are decoded at reduced size.
        assert self.opened is not None
        turned = self.opened.getexif().get(ExifTags.Base.Orientation, 1) in _TURNED
        return (width, height) if turned else (height, width)

    @property
    def pixel_bytes(self) -> int:
        """Memory of one decoded pixel."""
        return 3 if self.deep is None else self.deep.pixel_bytes


def read_header(data: bytes) -> Header:
    """Format, size, pixel type and metadata, without decoding. Raises ImageError."""
    if not data:
        raise ImageError("the file is empty")
    if dicom.is_dicom(data):
        return _of_dicom(data)
    if not tiff.is_tiff(data):
        return _of_pillow(data, f"{others.named(data)}; expected one of {', '.join(FORMATS)}")
    found = tiff.read(data)
    if found.deep is not None:
        _refuse_large(found.size)
        grey = found.deep.colours == 1
        header = Header("TIFF", found.size, None, found.deep, grey)
    else:
        unread = f"a TIFF image of {found.layout}, which is not read"
        header = _of_pillow(data, f"{unread}; save it as grey or RGB with 8 or 16 bits per channel")
    lost = [*found.lost, *(loss for loss in header.lost if loss not in ("frames", "profile"))]
    if _is_foreign(found.profile):
        lost.append("profile")
    return replace(header, lost=tuple(lost), pages=found.pages)


def _of_dicom(data: bytes) -> Header:
    found = dicom.read(data)
    _refuse_large(found.size)
    lost = (*found.lost, *(("profile",) if _is_foreign(found.profile) else ()))
    return Header(
        "DICOM", found.size, None, found.deep, found.grey, lost, found.frames, found.inverted
    )


def _refuse_large(size: tuple[int, int]) -> None:
    if size[0] * size[1] > MOST_PIXELS:
        raise ImageError(f"too large: {size[0]} x {size[1]} pixels")


def _of_pillow(data: bytes, unread: str) -> Header:
    """unread: the refusal of a file that Pillow does not know."""
    opened = _open(data, unread)
    deep = None
    grey = opened.mode in _GREY
    if opened.format == "PNG" and data[_PNG_DEPTH] == 16:
        # Pillow's pixel type lacks it for colours.
        grey = data[_PNG_TYPE] in _PNG_GREY
        alpha = data[_PNG_TYPE] in _PNG_ALPHA or "transparency" in opened.info
        deep = Samples("u", 16, 1 if grey else 3, alpha)
    elif opened.mode not in _PIXEL_TYPES:
        raise ImageError(
            f"{opened.format} with pixels of type {opened.mode}; convert the file to grey or RGB"
        )
    lost: list[Loss] = []
    # Of a TIFF file, trainer.images.tiff knows of frames.
    if opened.format != "TIFF" and _has_frames(opened, data):
        lost.append("frames")
    if opened.mode == "CMYK":
        lost.append("cmyk")
    elif _has_foreign_colours(opened, data):
        lost.append("profile")
    return Header(opened.format or "", opened.size, opened, deep, grey, tuple(lost))


def _open(data: bytes, unread: str) -> Image.Image:
    try:
        return Image.open(io.BytesIO(data), formats=_BY_PILLOW)
    except UnidentifiedImageError as error:
        raise ImageError(unread) from error
    except Image.DecompressionBombError as error:
        raise ImageError(f"too large: {error}") from error
    except Exception as error:  # Pillow's readers raise struct.error, SyntaxError and others
        raise ImageError(f"unreadable image header: {error}") from error


def _has_frames(opened: Image.Image, data: bytes) -> bool:
    try:
        if opened.format != "GIF":
            return bool(getattr(opened, "n_frames", 1) > 1)
        # Looks for a second frame, which changes what has been read of the first.
        return bool(getattr(_open(data, ""), "is_animated", False))
    except Exception:  # as in _open: behind the first frame is something, and it is broken
        return True


def _has_foreign_colours(opened: Image.Image, data: bytes) -> bool:
    """Return whether the file says in its format's way that its colours are other than sRGB's."""
    if profile := opened.info.get("icc_profile"):
        return _is_foreign(profile)
    start = data[:_BEFORE_PIXELS]
    if opened.format == "PNG":
        return _has_foreign_gamma(opened, start)
    if opened.format == "GIF":
        return _GIF_PROFILE in start
    if opened.format == "BMP":
        return start[_BMP_COLOURS] in _BMP_PROFILES
    return _is_adobe_rgb(opened)


def _is_adobe_rgb(opened: Image.Image) -> bool:
    """Return whether a camera says Adobe RGB, which it may do without a profile (DCF 2.0, EXIF
    2.32).
    """
    if not opened.info.get("exif"):
        return False
    with suppress(Exception):  # as in _open
        exif = opened.getexif()
        space = exif.get_ifd(ExifTags.IFD.Exif).get(ExifTags.Base.ColorSpace)
        rules = exif.get_ifd(ExifTags.IFD.Interop).get(ExifTags.Interop.InteropIndex)
        return space == _EXIF_ADOBE_RGB or rules == _DCF_ADOBE_RGB
    return False


def _has_foreign_gamma(opened: Image.Image, start: bytes) -> bool:
    """Return whether a PNG file's values mean other colours than sRGB's. start: of the file."""
    place = start.find(_CODE_POINTS)
    if place >= 0:
        return start[place + 4 : place + 6] != _SRGB_CODE_POINTS
    if "srgb" in opened.info:
        return False
    gamma = opened.info.get("gamma", _GAMMA)
    primaries = opened.info.get("chromaticity", _CHROMATICITY)
    return abs(gamma - _GAMMA) > _NEAR or any(
        abs(found - usual) > _NEAR for found, usual in zip(primaries, _CHROMATICITY, strict=False)
    )


@functools.lru_cache(64)
def _is_foreign(profile: bytes | None) -> bool:
    """Return whether an ICC profile is of another space than sRGB."""
    if not profile:
        return False
    try:
        read = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        return "srgb" not in ImageCms.getProfileDescription(read).lower()
    except (OSError, ImageCms.PyCMSError):
        return True
