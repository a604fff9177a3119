"""The size, channels and depth of an image, from the start of its file."""

import struct
from typing import NamedTuple

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
    """Shape of an image in pixels; channels: 1 or 3; bits: of one channel."""

    height: int
    width: int
    channels: int
    bits: int = 8


def is_image(data: bytes) -> bool:
    """Return whether a file begins as one whose shape is known, if it stands near its start."""
    return suffix_of(data) is not None


def suffix_of(data: bytes) -> str | None:
    """The suffix for the name of the image that begins so; None if it begins as no image."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return ".webp"
    return next((suffix for start, suffix in _STARTS.items() if data.startswith(start)), None)


def shape_of(data: bytes, tail: bytes = b"") -> Shape | None:
    """The shape of the PNG, JPEG, TIFF, GIF, BMP or WebP file that begins so; None for another one.

    tail: more of the file, from HEADER on: a TIFF's description may stand at its end.
    """
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
_WIDTH, _HEIGHT, _BITS, _SAMPLES = 256, 257, 258, 277
_SIZES = {1: 1, 3: 2, 4: 4, 16: 8}


def _tiff(data: bytes) -> Shape | None:
    """TIFF 6.0, section 2, and BigTIFF, whose places and counts have 8 bytes."""
    order = "<" if data.startswith(b"II") else ">"
    big = data[:4] in _BIG_TIFF
    # Letters of struct: a place in the file, the number of entries.
    place_, count_, width = ("Q", "Q", 8) if big else ("I", "H", 4)
    (at,) = struct.unpack(f"{order}{place_}", data[width : 2 * width])
    first = at + struct.calcsize(count_)
    (count,) = struct.unpack(f"{order}{count_}", data[at:first])
    found = {_BITS: 1, _SAMPLES: 1}
    for entry in range(first, first + (4 + 2 * width) * count, 4 + 2 * width):
        start = data[entry : entry + 4 + width]
        tag, type_, number = struct.unpack(f"{order}HH{place_}", start)
        if tag not in (_WIDTH, _HEIGHT, _BITS, _SAMPLES):
            continue
        size = _SIZES[type_]
        place = entry + 4 + width
        if size * number > width:
            (place,) = struct.unpack(f"{order}{place_}", data[place : place + width])
        value = data[place : place + size]
        found[tag] = int.from_bytes(value, "little" if order == "<" else "big")
    channels = 1 if found[_SAMPLES] < 3 else 3
    return Shape(found[_HEIGHT], found[_WIDTH], channels, max(8, found[_BITS]))


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
