import io
import struct
import zlib

import cv2
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from trainer.exporting.images import convert as exported
from trainer.exporting.images.convert import ImageError
from trainer.serving.images import inspect
from trainer.serving.limits import MAX_PIXELS


def photo(size=(40, 60)):
    """A picture with content in colour. size: height, width."""
    noise = np.random.default_rng(5).integers(0, 256, (5, 6, 3), np.uint8)
    return Image.fromarray(cv2.resize(noise, size[::-1], interpolation=cv2.INTER_CUBIC))


def file_of(picture, **options):
    buffer = io.BytesIO()
    picture.save(buffer, **options)
    return buffer.getvalue()


def rotated():
    exif = Image.Exif()
    exif[0x0112] = 6  # Orientation: turn 90 degrees clockwise to show
    return exif


def transparent():
    picture = photo().convert("RGBA")
    picture.putalpha(Image.linear_gradient("L").resize(picture.size))
    return picture


def deep():
    pixels = np.arange(40 * 60, dtype=np.uint16).reshape(40, 60) * 27
    return cv2.imencode(".png", pixels)[1].tobytes()


PLAIN = {
    "jpeg": file_of(photo(), format="JPEG"),
    "progressive jpeg": file_of(photo(), format="JPEG", progressive=True),
    "grey jpeg": file_of(photo().convert("L"), format="JPEG"),
    "png": file_of(photo(), format="PNG"),
    "grey png": file_of(photo().convert("L"), format="PNG"),
}
UNUSUAL = {
    "rotated jpeg": file_of(photo(), format="JPEG", exif=rotated()),
    "rotated png": file_of(photo(), format="PNG", exif=rotated()),
    "cmyk jpeg": file_of(photo().convert("CMYK"), format="JPEG"),
    "transparent png": file_of(transparent(), format="PNG"),
    "palette png": file_of(photo().quantize(16), format="PNG"),
    "16-bit png": deep(),
    "animated png": file_of(photo(), format="PNG", save_all=True, append_images=[photo()]),
    "bmp": file_of(photo(), format="BMP"),
    "gif": file_of(photo(), format="GIF"),
    "animated gif": file_of(
        photo(), format="GIF", save_all=True, append_images=[transparent()], loop=0
    ),
    "webp": file_of(photo(), format="WEBP", lossless=True),
    "tiff": file_of(photo(), format="TIFF"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_image_is_passed_on_as_it_is(name):
    image = inspect(PLAIN[name])
    assert image.as_plain() is image
    assert image.data is PLAIN[name]
    assert image.cost == 40 * 60


@pytest.mark.parametrize("name", UNUSUAL)
def test_the_model_sees_an_unusual_image_as_the_export_saw_those_of_the_dataset(name):
    data = UNUSUAL[name]
    served = tf.io.decode_image(
        inspect(data).as_plain().data, channels=3, expand_animations=False
    ).numpy()
    in_dataset = exported.decode(data, 10_000, 10_000, channels=3)[..., ::-1]
    np.testing.assert_array_equal(served, in_dataset)


def test_rotation_and_transparency_are_gone():
    upright = tf.io.decode_image(inspect(UNUSUAL["rotated jpeg"]).as_plain().data)
    assert upright.shape == (60, 40, 3)
    on_white = tf.io.decode_image(inspect(UNUSUAL["transparent png"]).as_plain().data)
    assert on_white[0].numpy().min() > 240  # the gradient begins with full transparency


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
        (b"seven, written by hand\n", "not an image in one of JPEG, PNG"),
        (
            png_header(10_000, 5_000),
            r"5000 pixels are 50\.0 megapixels; the limit is 33\.6",
        ),
        (png_header(60_000, 60_000), "megapixels|too large"),
        (PLAIN["jpeg"] + b"\xff\xda" * 100, "more than 100 scans"),
        (UNUSUAL["gif"][:60], "GIF"),
        (UNUSUAL["rotated jpeg"][:-200], "corrupt or truncated"),
    ],
    ids=[
        "empty",
        "text",
        "50 megapixels",
        "3.6 gigapixels",
        "scans",
        "cut GIF",
        "cut rotated JPEG",
    ],
)
def test_refused_by_its_header_or_by_the_exports_decoder(data, reason):
    with pytest.raises(ImageError, match=reason):
        inspect(data).as_plain()


def test_the_largest_image_is_taken():
    side = int(MAX_PIXELS**0.5)
    assert inspect(png_header(side, side)).pixels <= MAX_PIXELS
    with pytest.raises(ImageError, match="megapixels"):
        inspect(png_header(side + 1, side + 1))
