"""The form of a DICOM image, from the start of its file.

The trainer reads such files by pydicom, which Airflow's side does not have; here a few numbers of
the header are enough.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

# PS3.10, 7.1: a preamble, the prefix, then elements of group 2 in explicit VR little endian.
_PREFIX, _PLACE = b"DICM", 128
START = _PLACE + len(_PREFIX)
_META, _SYNTAX = 0x0002, (0x0002, 0x0010)
_IMPLICIT, _BIG_ENDIAN = b"1.2.840.10008.1.2", b"1.2.840.10008.1.2.2"
# PS3.5, 7.1.2: lengths of 4 bytes behind 2 reserved ones.
_LONG = (b"OB", b"OD", b"OF", b"OL", b"OV", b"OW", b"SQ", b"SV", b"UC", b"UN", b"UR", b"UT", b"UV")
# Delimiters of sequences, and their items, have no VR. A sequence is read as what is in it.
_ITEMS, _SEQUENCE, _UNDEFINED = 0xFFFE, b"SQ", 0xFFFFFFFF
_PIXELS = 0x7FE0
_SAMPLES, _FRAMES, _ROWS, _COLUMNS, _BITS = (
    (0x0028, element) for element in (0x0002, 0x0008, 0x0010, 0x0011, 0x0101)
)


class Form(NamedTuple):
    """Numbers of a header. bits: of one value. samples: of one pixel, 1 or 3."""

    rows: int
    columns: int
    bits: int
    samples: int
    frames: int


def is_dicom(data: bytes) -> bool:
    """Return whether a file begins as DICOM."""
    return data.startswith(_PREFIX, _PLACE)


def form_of(data: bytes) -> Form | None:
    """The form of the image; None if the header has none near its start."""
    found: dict[tuple[int, int], int] = {}
    if not is_dicom(data):
        return None
    try:
        for tag, value, order in _elements(data):
            if tag == _FRAMES:
                found.setdefault(tag, int(value.strip(b" \0") or b"1"))
            elif tag in (_SAMPLES, _ROWS, _COLUMNS, _BITS):
                found.setdefault(tag, struct.unpack(f"{order}H", value)[0])
    except (struct.error, ValueError):
        pass  # cut off, or broken: what stands before it counts
    if not {_ROWS, _COLUMNS, _BITS} <= found.keys():
        return None
    return Form(
        found[_ROWS], found[_COLUMNS], found[_BITS], found.get(_SAMPLES, 1), found.get(_FRAMES, 1)
    )


def _elements(data: bytes) -> Iterator[tuple[tuple[int, int], bytes, str]]:
    """Each element's tag, value and byte order, up to the pixels; those of sequences, too."""
    at, order, explicit, syntax = START, "<", True, b""
    while at < len(data):
        if syntax and data[at : at + 2] != struct.pack("<H", _META):
            order, explicit = ">" if syntax == _BIG_ENDIAN else "<", syntax != _IMPLICIT
        tag = struct.unpack(f"{order}HH", data[at : at + 4])
        if tag[0] == _PIXELS:
            return
        vr = data[at + 4 : at + 6] if explicit and tag[0] != _ITEMS else b""
        if vr and vr not in _LONG:
            (size,), start = struct.unpack(f"{order}H", data[at + 6 : at + 8]), at + 8
        else:
            start = at + (12 if vr else 8)
            (size,) = struct.unpack(f"{order}I", data[start - 4 : start])
        if tag[0] == _ITEMS or vr == _SEQUENCE or size == _UNDEFINED:
            size = 0
        value = data[start : start + size]
        yield tag, value, order
        if tag == _SYNTAX:
            syntax = value.rstrip(b"\0 ")
        at = start + size
