"""Names of files that are no images for a model, by their first bytes, and what to do with them."""

_EXPORT = "export its planes or tiles as PNG or TIFF"
_SAVE = "save it as PNG or JPEG"
# Place in the file, the bytes there, the name, the remedy.
_KINDS: tuple[tuple[int, bytes, str, str], ...] = (
    (128, b"DICM", "a DICOM file", _EXPORT),
    (0, b"n+1\0", "a NIfTI file", _EXPORT),
    (344, b"n+1\0", "a NIfTI file", _EXPORT),
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
    (0, b"\x1f\x8b", "compressed with gzip", "unpack it"),
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
    for place, mark, name, remedy in _KINDS:
        if data.startswith(mark, place):
            return f"{name}, which is not read ({remedy})"
    text = data[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for mark, name, remedy in _SPELLED:
        if text.startswith(mark) or (text.startswith(b"<?xml") and mark in text):
            return f"{name}, which is not read ({remedy})"
    return "not an image"
