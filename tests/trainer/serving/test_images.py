"""Refusals of a client's file by its header."""

import struct
import zlib

import pytest

from tests.trainer.serving.images import image
from trainer.images import ImageError
from trainer.serving.images import inspect
from trainer.serving.limits import MAX_PIXELS

JPEG = image(9, (40, 60), ".jpg")


def test_an_image_costs_its_pixels():
    read = inspect(JPEG)
    assert read.data is JPEG
    assert read.cost == 40 * 60


def png_header(width, height):
    """A PNG that ends after its first chunk."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", len(header) - 4)
        + header
        + struct.pack(">I", zlib.crc32(header))
        + struct.pack(">I", 8)
        + b"IDAT"
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"seven, written by hand\n", "not an image; expected one of JPEG, PNG"),
        (
            png_header(10_000, 5_000),
            r"5000 pixels are 50\.0 megapixels; the limit is 33\.6",
        ),
        (png_header(60_000, 60_000), "megapixels|too large"),
        (JPEG + b"\xff\xda" * 100, "more than 100 scans"),
    ],
    ids=[
        "empty",
        "text",
        "50 megapixels",
        "3.6 gigapixels",
        "scans",
    ],
)
def test_refused_by_its_header(data, reason):
    with pytest.raises(ImageError, match=reason):
        inspect(data)


def test_the_largest_image_is_taken():
    side = int(MAX_PIXELS**0.5)
    assert inspect(png_header(side, side)).cost <= MAX_PIXELS
    with pytest.raises(ImageError, match="megapixels"):
        inspect(png_header(side + 1, side + 1))
