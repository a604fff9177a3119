"""Names of files that are no images for a model, by their first bytes, and what to do with them."""

import zlib

_EXPORT = "export its planes or tiles as PNG or TIFF"
_SAVE = "save it as PNG or JPEG"
_VOLUME = (
    "save its slices as images, as docs/how-to/image-files.md says under Volumes, and keep those "
    "of a patient together by split.by"
)
# Places of the magic of both versions, of a file and of a header beside its voxels:
# https://nifti.nimh.nih.gov/pub/dist/src/niftilib/nifti1.h and nifti2.h
_NIFTI = ((344, b"n+1\0"), (344, b"ni1\0"), (4, b"n+2\0"), (4, b"ni2\0"))
_NIFTI_HEADER = 348
_GZIP = b"\x1f\x8b"
# Place in the file, the bytes there, the name, the remedy.
_KINDS: tuple[tuple[int, bytes, str, str], ...] = (
    *((place, mark, "a NIfTI volume", _VOLUME) for place, mark in _NIFTI),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", _EXPORT),
    (0, b"\x93NUMPY", "an array of NumPy", _EXPORT),
    (0, b"\xffO\xffQ", "a JPEG 2000 image", _SAVE),
    (4, b"jP  \r\n\x87\n", "a JPEG 2000 image", _SAVE),
    (0, b"\xff\n", "a JPEG XL image", _SAVE),
    (4, b"JXL \r\n\x87\n", "a JPEG XL image", _SAVE),
    (0, b"II\xbc\x01", "a JPEG XR image", _SAVE),
    (4, b"ftypavi", "an AVIF image", _SAVE),
    (4, b"ftyphei", "a HEIC image", _SAVE),
    (4, b"ftyphev", "a HEIC image", _SAVE),
    (4, b"ftypmif1", "a HEIC or AVIF image", _SAVE),
    (4, b"ftyp", "a video", "save its frames as PNG or JPEG"),
    (0, b"\x1aE\xdf\xa3", "a video", "save its frames as PNG or JPEG"),
    (8, b"AVI ", "a video", "save its frames as PNG or JPEG"),
    (0, b"IIU\0", "a camera's raw file", _SAVE),
    (0, b"IIRO", "a camera's raw file", _SAVE),
    (0, b"FUJIFILM", "a camera's raw file", _SAVE),
    (0, b"\0\0\1\0", "an icon (ICO)", _SAVE),
    (0, b"8BPS", "a file of Photoshop", _SAVE),
    (0, b"v/1\1", "an OpenEXR image", "save it as TIFF with floats"),
    (0, b"#?RADIANCE", "a Radiance image", "save it as TIFF with floats"),
    (0, b"%PDF", "a PDF", _SAVE),
    (0, _GZIP, "compressed with gzip", "unpack it"),
    (0, b"PK\3\4", "an archive (zip)", "unpack it"),
    (
        0,
        b"version https://git-lfs",
        "a pointer of Git LFS, not the file",
        "get it by `git lfs pull`",
    ),
    *((0, b"P%d" % n, "a PNM image (PPM, PGM)", _SAVE) for n in range(1, 8)),
)
_SPELLED = (
    (b"<!doctype html", "a web page", "it came in place of the image: load it again"),
    (b"<html", "a web page", "it came in place of the image: load it again"),
    (b"<svg", "an SVG drawing", _SAVE),
    (b"{", "JSON, not an image", "was an error saved in its place?"),
)
_LOOKED_AT = 1024


def named(data: bytes) -> str:
    """What the file is and what to do; "not an image" if that is not known."""
    if data.startswith(_GZIP):
        data = _unpacked(data)
    for place, mark, name, remedy in _KINDS:
        if data.startswith(mark, place):
            return f"{name}, which is not read ({remedy})"
    text = data[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for mark, name, remedy in _SPELLED:
        if text.startswith(mark) or (text.startswith(b"<?xml") and mark in text):
            return f"{name}, which is not read ({remedy})"
    return "not an image"


def _unpacked(data: bytes) -> bytes:
    """The start of what is compressed, if it is a volume, as most are; else the file."""
    try:
        start = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _NIFTI_HEADER)
    except zlib.error:
        return data
    return start if any(start.startswith(mark, place) for place, mark in _NIFTI) else data
