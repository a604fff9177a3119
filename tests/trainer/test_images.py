"""Decoded pixels: upright, of the requested size and colours; errors of files that cannot be
decoded.

Pillow makes the files and is the oracle of the decoding.
"""

import contextlib
import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps

from tests.trainer.image_files import DEEP_KINDS, KINDS, image_files
from trainer import images
from trainer.images import ImageError, Scale
from trellis_contracts.dataset_features import IMAGE_RULE

ROOT = Path(__file__).resolve().parents[2]
ORIENTATION = 0x0112  # the EXIF tag


def picture(height=60, width=80):
    """Smooth RGB noise, so that lossy formats stay close, without any symmetry."""
    coarse = np.random.default_rng(0).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)


def save(image, image_format, **options):
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image)
    buffer = io.BytesIO()
    image.save(buffer, image_format, **options)
    return buffer.getvalue()


def seen(data, height=60, width=80, channels=3):
    """Return the pixels that a model sees of an image."""
    return images.pixels(data, (height, width, channels))


def difference(pixels, expected):
    assert pixels.shape == expected.shape
    return np.abs(pixels.astype(int) - expected).mean()


@pytest.mark.parametrize(
    ("image_format", "tolerance"),
    [("PNG", 0), ("BMP", 0), ("TIFF", 0), ("JPEG", 3), ("WEBP", 3), ("GIF", 12)],
)
def test_colours_and_sides_are_right_in_every_format(image_format, tolerance):
    assert difference(seen(save(picture(), image_format)), picture()) <= tolerance


@pytest.mark.parametrize("channels", [1, 3])
def test_grey_or_colour_is_as_asked(channels):
    expected = picture() if channels == 3 else np.array(Image.fromarray(picture()).convert("L"))
    expected = cv2.resize(expected, (40, 30), interpolation=cv2.INTER_AREA)
    pixels = seen(save(picture(), "PNG"), 30, 40, channels)
    assert pixels.dtype == np.uint8
    assert difference(pixels, expected.reshape(30, 40, channels)) < 1


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "WEBP"])
def test_rotated_photographs_are_turned_upright(image_format, orientation):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    data = save(picture(), image_format, exif=exif)
    expected = np.array(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))
    height, width, _ = expected.shape
    assert difference(seen(data, height, width), expected) < 1


def test_rotated_and_transparent_at_once():
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    opaque = np.dstack([picture(), np.full((60, 80), 255, np.uint8)])
    rotated = seen(save(opaque, "PNG", exif=exif), 80, 60)
    assert np.array_equal(rotated, np.rot90(picture(), -1))


@pytest.mark.parametrize("image_format", ["PNG", "WEBP", "TIFF"])
def test_transparency_is_composed_over_white(image_format):
    alpha = np.zeros((60, 80), np.uint8)
    alpha[:, 40:] = 255
    alpha[:30, 40:] = 128
    options = {"lossless": True, "exact": True} if image_format == "WEBP" else {}
    pixels = seen(save(np.dstack([picture(), alpha]), image_format, **options))
    assert (pixels[:, :40] == 255).all()
    assert np.array_equal(pixels[30:, 40:], picture()[30:, 40:])
    half = (picture()[:30, 40:] * 128.0 + 255 * 127) / 255
    assert difference(pixels[:30, 40:], half) < 1


def test_a_transparent_palette_colour_becomes_white():
    palette = Image.fromarray(picture()).quantize(8)
    pixels = seen(save(palette, "PNG", transparency=palette.getpixel((0, 0))))
    assert (pixels[0, 0] == 255).all()
    assert difference(pixels, np.array(palette.convert("RGB"))) > 0


def test_black_drawings_on_transparent_ground_stay_visible():
    drawing = np.zeros((60, 80, 4), np.uint8)
    drawing[20:40, 20:40, 3] = 255
    pixels = seen(save(drawing, "PNG"), channels=1)
    assert pixels.min() == 0
    assert pixels.max() == 255


@pytest.mark.parametrize("image_format", ["PNG", "TIFF"])
def test_sixteen_bits_are_refused_without_a_scale_and_kept_with_one(image_format):
    camera = np.random.default_rng(0).integers(200, 3900, (60, 80)).astype(np.uint16)
    data = save(camera, image_format)
    with pytest.raises(ImageError, match=r"16 bits per channel, .*source\.scale"):
        seen(data, channels=1)
    pixels = images.pixels(data, (60, 80, 1), scale=Scale("full"))
    assert np.array_equal(pixels[..., 0], camera)


def test_deep_pixels_are_means_of_those_they_cover():
    fine = np.random.default_rng(0).integers(0, 65536, (60, 80)).astype(np.uint16)
    expected = fine.reshape(6, 10, 8, 10).mean(axis=(1, 3))
    pixels = images.pixels(save(fine, "PNG"), (6, 8, 1), scale=Scale("full"))
    assert np.abs(pixels[..., 0] - expected).max() <= 0.5


def test_cmyk_is_converted():
    data = save(Image.fromarray(picture()).convert("CMYK"), "JPEG")
    assert difference(seen(data), picture()) < 3


def test_one_bit_and_grey_images_fill_three_channels():
    for mode in ("1", "L"):
        grey = Image.fromarray(picture()).convert(mode)
        assert np.array_equal(seen(save(grey, "PNG")), np.array(grey.convert("RGB")))


def test_the_first_frame_of_an_animation_counts():
    frames = [Image.new("RGB", (80, 60), colour) for colour in ("red", "blue")]
    data = save(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert (seen(data) == (255, 0, 0)).all()


def test_each_stored_pixel_is_the_mean_of_those_it_covers():
    fine = np.random.default_rng(0).integers(0, 256, (60, 80), dtype=np.uint8)
    expected = fine.reshape(6, 10, 8, 10).mean(axis=(1, 3))
    pixels = seen(save(fine, "PNG"), 6, 8, channels=1)
    assert np.abs(pixels[..., 0] - expected).max() <= 0.5


@given(
    source=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    target=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    value=st.integers(0, 255),
)
def test_every_size_becomes_every_size(source, target, value):
    flat = np.full((*source, 3), value, np.uint8)
    assert (images.resize(flat, *target) == np.full((*target, 3), value)).all()


@pytest.mark.parametrize(
    ("size", "target"), [((60, 80), (30, 30)), ((80, 60), (20, 25)), ((30, 20), (60, 60))]
)
def test_letterbox_and_crop_keep_proportions_as_pillow_does(size, target):
    image, height_first = picture(*size), target[::-1]
    padded = ImageOps.pad(Image.fromarray(image), height_first, Image.Resampling.BOX, "black")
    fitted = ImageOps.fit(Image.fromarray(image), height_first, Image.Resampling.BOX)
    data = save(image, "PNG")
    tolerance = 2 if size[0] > target[0] else 12  # Pillow's BOX repeats pixels where it grows
    assert difference(images.pixels(data, (*target, 3), "letterbox"), np.array(padded)) <= tolerance
    assert difference(images.pixels(data, (*target, 3), "crop"), np.array(fitted)) <= tolerance


@given(
    source=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    target=st.tuples(st.integers(1, 40), st.integers(1, 40)),
)
def test_a_letterbox_has_all_of_the_image_and_a_crop_nothing_else(source, target):
    white = np.full((*source, 3), 255, np.uint8)
    boxed = images.resize(white, *target, "letterbox")
    assert boxed.shape == (*target, 3)
    seen_rows, seen_columns = np.nonzero(boxed[..., 0])
    inner = np.ptp(seen_rows) + 1, np.ptp(seen_columns) + 1
    assert inner == images.largest_within(target, source)
    assert inner[0] == target[0] or inner[1] == target[1]
    assert (boxed[..., 0] == 255).sum() == inner[0] * inner[1]
    assert (images.resize(white, *target, "crop") == np.full((*target, 3), 255)).all()


@pytest.mark.parametrize("size", [(1600, 1200), (1201, 1603), (900, 3001)])
def test_a_large_jpeg_decoded_at_reduced_size_looks_the_same(size):
    data = save(picture(*size), "JPEG")
    assert images.decode(data, 50, 50, 3).shape[0] < size[0] / 2
    whole = cv2.cvtColor(cv2.imdecode(np.frombuffer(data, np.uint8), 1), cv2.COLOR_BGR2RGB)
    expected = images.resize(whole, 50, 50)
    assert np.abs(seen(data, 50, 50).astype(int) - expected).max() <= 8


@given(
    source=st.tuples(st.integers(1, 300), st.integers(1, 300)),
    target=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    orientation=st.sampled_from([1, 6]),
)
def test_a_reduced_jpeg_is_never_smaller_than_what_is_needed(source, target, orientation):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    data = save(np.full((*source, 3), 7, np.uint8), "JPEG", exif=exif)
    upright = source if orientation == 1 else source[::-1]
    decoded = images.decode(data, *target, 3).shape[:2]
    for side, full, needed in zip(decoded, upright, target, strict=True):
        assert side >= min(full, needed)


@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_truncated_images_are_refused(image_format, share):
    data = save(picture(), image_format)
    with pytest.raises(ImageError):
        seen(data[: int(len(data) * share)])


def test_a_truncated_large_jpeg_is_refused_at_reduced_size_too():
    data = save(picture(1600, 1200), "JPEG")
    with pytest.raises(ImageError, match="truncated"):
        seen(data[: len(data) // 2], 50, 50)


def test_a_truncated_transparent_image_is_refused():
    data = save(np.dstack([picture(), picture()[..., 0]]), "PNG")
    with pytest.raises(ImageError, match="truncated"):
        seen(data[: len(data) // 2])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"<html>404</html>", "a web page.* expected one of JPEG, PNG"),
        (b"\x89PNG\r\n\x1a\n", "unreadable|not an image"),
        (save(picture(), "ICO", sizes=[(32, 32)]), "an icon"),
        (save(picture()[..., 0].astype(np.float32), "TIFF"), "32 float bits per channel"),
        (save(picture()[..., 0].astype(np.int32), "TIFF"), "32 signed bits per channel"),
        (save(Image.fromarray(picture()).convert("LAB"), "TIFF"), "pixels of type LAB"),
    ],
)
def test_what_is_no_usable_image_says_why(data, reason):
    with pytest.raises(ImageError, match=reason):
        seen(data)


def test_an_image_of_absurd_size_is_refused_before_it_is_decoded():
    with pytest.raises(ImageError, match="too large"):
        seen(save(Image.new("1", (20000, 20000)), "PNG"))


@given(
    st.binary(max_size=200), st.sampled_from([b"", b"\xff\xd8\xff\xe0", b"GIF89a", b"BM", b"II*\0"])
)
@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_no_bytes_break_the_decoder(data, magic):
    for scale in (None, Scale("full")):
        with contextlib.suppress(ImageError):
            images.pixels(magic + data, (4, 4, 3), scale=scale)


@given(st.data())
@pytest.mark.filterwarnings("ignore")
def test_no_change_of_a_deep_file_breaks_the_decoder(data):
    deep = np.arange(48, dtype=np.uint16).reshape(6, 8) * 1000
    options = data.draw(st.sampled_from([{}, {"compression": "tiff_lzw"}]), "options")
    kind = data.draw(st.sampled_from(["TIFF", "PNG"]), "kind")
    content = bytearray(save(deep, kind, **(options if kind == "TIFF" else {})))
    for _ in range(data.draw(st.integers(1, 4), "changes")):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ImageError):
        images.pixels(bytes(content), (4, 4, 1), scale=Scale("percentiles", 0, 100))


def test_a_tiff_whose_width_has_no_value_is_refused():
    content = bytearray(save(np.zeros((6, 8), np.uint16), "TIFF"))
    content[14] = 0  # of the first tag, the number of values
    with pytest.raises(ImageError, match="without a width or a height"):
        images.pixels(bytes(content), (4, 4, 1), scale=Scale("percentiles", 0, 100))


def digest(files, scale=None):
    """Digest of the pixels that models of two sizes, grey and colour, see of the files."""
    sha256 = hashlib.sha256()
    for file in files:
        for shape in ((48, 48, 3), (31, 77, 1)):
            sha256.update(images.pixels(file.data, shape, scale=scale).tobytes())
    return sha256.hexdigest()


def digests():
    """Digests of a file of each kind, by 8 bits; and of those and the deep ones, by a scale."""
    scale = Scale("percentiles", 1, 99)
    return digest(image_files(len(KINDS))), digest(
        image_files(len(KINDS | DEEP_KINDS), True), scale
    )


DIGESTS = (
    "31688ce24b8f88a926edb84422e45e067f50e99015946926061eecfc5fdff2fa",
    "a0c0425532b59c34e62fd8f3c7a80b1ac4c61e8000c242ff0f72a5b16296f5f6",
)


def test_a_file_gives_the_same_pixels_as_in_datasets_of_before():
    """If this fails after an upgrade or a change, raise IMAGE_RULE, and put the new ones here."""
    assert (IMAGE_RULE, digests()) == (2, DIGESTS)


def test_every_processor_gives_the_same_pixels():
    """Also one of long ago, of whose vector instructions OpenCV, or libjpeg, knows none."""
    variables = {
        "OPENCV_CPU_DISABLE": "AVX2,AVX,FP16,SSE4.2,SSE4.1,SSSE3",
        "OPENCV_IPP": "disabled",
        "JSIMD_FORCENONE": "1",
    }
    program = "from tests.trainer.test_images import *; print(digests() == DIGESTS)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | variables | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[-1] == "True"


def test_threads_change_no_pixel():
    before = cv2.getNumThreads()
    try:
        cv2.setNumThreads(4)
        assert digests() == DIGESTS
    finally:
        cv2.setNumThreads(before)
