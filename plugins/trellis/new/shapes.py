"""The size, channels and depth of an image, from the start of its file."""

import struct
from typing import NamedTuple

from trellis.new import dicom

HEADER = 256 * 1024
"""Bytes read of a file: a JPEG's size may stand behind a thumbnail and a colour profile."""


_TIFF, _BIG_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), (b"II+\0", b"MM\0+")
_STARTS = {
    b"\x89PNG\r\n\x1a\n": ".png",
    b"\xff\xd8": ".jpg",
    **dict.fromkeys(_TIFF, ".tif"),
    b"GIF87a": ".gif",
    b"GIF89a": ".gif",
    b"BM": ".bmp",
}


class Shape(NamedTuple):
    """Shape of an image in pixels; channels: 1 or 3; bits: of one channel. pages: of a TIFF file,
    or a DICOM file's frames; of a file that goes on, at least.
    """

    height: int
    width: int
    channels: int
    bits: int = 8
    pages: int = 1


def is_image(data: bytes) -> bool:
    """Return whether a file begins as one whose shape is known, if it stands near its start."""
    return suffix_of(data) is not None


def suffix_of(data: bytes) -> str | None:
    """The suffix for the name of the image that begins so; None if it begins as no image."""
    if dicom.is_dicom(data):
        return ".dcm"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return ".webp"
    return next((suffix for start, suffix in _STARTS.items() if data.startswith(start)), None)


def shape_of(data: bytes, tail: bytes = b"") -> Shape | None:
    """The shape of the PNG, JPEG, TIFF, GIF, BMP, WebP or DICOM file that begins so; None for
    another one.

    tail: more of the file, from HEADER on: a TIFF's description may stand at its end.
    """
    # First: its preamble may make it a TIFF file, too (PS3.10, 7.1).
    if form := dicom.form_of(data):
        channels = 3 if form.samples == 3 else 1
        return Shape(form.rows, form.columns, channels, max(8, form.bits), form.frames)
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return _png(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
        if data[:4] in _TIFF:
            return _tiff(data + tail)
        if data[:6] in (b"GIF87a", b"GIF89a"):
            width, height = struct.unpack("<HH", data[6:10])
            return Shape(height, width, 3)
        if data.startswith(b"BM"):
            width, height, _, bits = struct.unpack("<iiHH", data[18:30])
            return Shape(abs(height), width, 3 if bits != 1 else 1)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp(data)
    except (struct.error, IndexError, KeyError, ZeroDivisionError):
        pass
    return None


def _png(data: bytes) -> Shape:
    """https://www.w3.org/TR/png-3/#11IHDR"""
    width, height, bits, color = struct.unpack(">IIBB", data[16:26])
    return Shape(height, width, 1 if color in (0, 4) else 3, max(8, bits))


def _jpeg(data: bytes) -> Shape | None:
    """ITU-T T.81, B.2.2"""
    at = 2
    while at + 10 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        # Start of frame; C4, C8 and CC are other segments.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            bits, height, width, channels = struct.unpack(">BHHB", data[at + 4 : at + 10])
            return Shape(height, width, 1 if channels == 1 else 3, bits)
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


# TIFF 6.0: tags of a directory's entries, and bytes of a value of each type.
_WIDTH, _HEIGHT, _BITS, _SAMPLES, _KIND = 256, 257, 258, 277, 254
_REDUCED = 1
_MOST_PAGES = 1000
_SIZES = {1: 1, 3: 2, 4: 4, 16: 8}


def _tiff(data: bytes) -> Shape:
    """TIFF 6.0, section 2, and BigTIFF, whose places and counts have 8 bytes."""
    order = "<" if data.startswith(b"II") else ">"
    width = 8 if data[:4] in _BIG_TIFF else 4
    at = int.from_bytes(data[width : 2 * width], "little" if order == "<" else "big")
    first, at = _directory(data, at, order, width)
    pages = 1
    while at and pages < _MOST_PAGES:
        try:
            found, at = _directory(data, at, order, width)
        except (struct.error, KeyError):
            found, at = {}, 0  # behind what was read of the file
        pages += not found.get(_KIND, 0) & _REDUCED
    channels = 1 if first[_SAMPLES] < 3 else 3
    return Shape(first[_HEIGHT], first[_WIDTH], channels, max(8, first[_BITS]), pages)


def _directory(data: bytes, at: int, order: str, width: int) -> tuple[dict[int, int], int]:
    """The values of a page's tags that matter here, and the place of the next page; 0: none."""
    # Letters of struct: a place in the file, the number of entries.
    place_, count_ = ("Q", "Q") if width == 8 else ("I", "H")
    first = at + struct.calcsize(count_)
    (count,) = struct.unpack(f"{order}{count_}", data[at:first])
    found = {_BITS: 1, _SAMPLES: 1}
    last = first + (4 + 2 * width) * count
    for entry in range(first, last, 4 + 2 * width):
        start = data[entry : entry + 4 + width]
        tag, type_, number = struct.unpack(f"{order}HH{place_}", start)
        if tag not in (_WIDTH, _HEIGHT, _BITS, _SAMPLES, _KIND):
            continue
        size = _SIZES[type_]
        place = entry + 4 + width
        if size * number > width:
            (place,) = struct.unpack(f"{order}{place_}", data[place : place + width])
        value = data[place : place + size]
        found[tag] = int.from_bytes(value, "little" if order == "<" else "big")
    (next_,) = struct.unpack(f"{order}{place_}", data[last : last + width])
    return found, next_


def _webp(data: bytes) -> Shape | None:
    """RFC 9649, section 2"""
    kind = data[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(data[n : n + 3], "little") + 1 for n in (24, 27))
    elif kind == b"VP8L":
        packed = int.from_bytes(data[21:25], "little")
        width, height = (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    else:
        width, height = (n & 0x3FFF for n in struct.unpack("<HH", data[26:30]))
    return Shape(height, width, 3)
