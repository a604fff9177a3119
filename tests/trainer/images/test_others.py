"""A file that no model sees is refused by what it is."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from tests.trainer.images.files import FILES, RGB, pillow
from trainer import images


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("1.png", pillow(RGB, "PNG"))
    return buffer.getvalue()


def array() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, RGB)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (FILES["NIfTI"].data, "NIfTI.*docs/how-to/image-files.md"),
        (gzip.compress(FILES["NIfTI"].data), "NIfTI.*docs/how-to/image-files.md"),
        (FILES["ICO"].data, "ICO"),
        (FILES["JPEG 2000"].data, "JPEG 2000"),
        (FILES["AVIF, HEIC"].data, "AVIF"),
        (FILES["PNM (PPM, PGM)"].data, "PNM"),
        (pillow(RGB[..., 0], "PPM"), "PNM"),
        (FILES["SVG, PDF and others"].data, "SVG"),
        (b"<?xml version='1.0'?>\n<!-- --><svg/>", "SVG"),
        (pillow(RGB, "PDF"), "PDF"),
        (gzip.compress(pillow(RGB, "PNG")), "gzip"),
        (archive(), "zip"),
        (array(), "NumPy"),
        (b"\xef\xbb\xbf\n<!DOCTYPE HTML><html>not found</html>", "a web page"),
        (b'{"error": {"code": 404}}', "JSON"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "Git LFS"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_names_the_kind_of_file(data, name):
    with pytest.raises(images.ImageError, match=name) as refusal:
        images.read_header(data)
    assert "expected one of JPEG, PNG" in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("TIFF, grey and another channel", "2 channels of 8 bits"),
        ("TIFF, 6 bits", "6 bits"),
        ("TIFF, 12 bits", "12 bits"),
        ("TIFF, a sensor's raw values", "CFA"),
        ("TIFF that begins with a thumbnail", "reduced copy"),
    ],
)
def test_a_refusal_of_a_tiff_file_names_what_it_holds(name, said):
    with pytest.raises(images.ImageError, match=said):
        images.read_header(FILES[name].data)


def test_nothing_is_said_of_a_file_of_no_known_kind():
    with pytest.raises(images.ImageError, match=r"^not an image; expected one of JPEG"):
        images.read_header(b"seven, written by hand")
