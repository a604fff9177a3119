"""Mask files: the class of each pixel, or why there is a doubt."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from trainer.images import ImageError, view
from trainer.images.masks import Mask, UnknownClassError
from trellis_contracts.columns import MaskClass
from trellis_contracts.dataset_features import RESIZES, Feature

CELL = (MaskClass("background", 0), MaskClass("cell", 255))
INDICES = tuple(MaskClass(name, number) for number, name in enumerate(("ground", "cell", "edge")))
COLOURS = (
    MaskClass("ground", "#000000"),
    MaskClass("cell", "#ff0000"),
    MaskClass("edge", "#0000ff"),
)
TRUTH = np.array([[0, 0, 1, 2], [0, 1, 1, 2], [2, 2, 2, 0]], np.uint8)


def saved(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def with_palette():
    image = Image.fromarray(TRUTH).convert("P")
    image.putdata(TRUTH.ravel().tolist())
    image.putpalette([0, 0, 0, 255, 0, 0, 0, 0, 255])
    return image


def in_colours(mode="RGB"):
    table = np.array([[0, 0, 0], [255, 0, 0], [0, 0, 255]], np.uint8)
    return Image.fromarray(table[TRUTH]).convert(mode)


@pytest.mark.parametrize(
    ("data", "known"),
    [
        (saved(Image.fromarray(TRUTH)), INDICES),
        (saved(Image.fromarray(TRUTH), "TIFF"), INDICES),
        (saved(Image.fromarray(TRUTH).convert("RGB")), INDICES),
        (saved(with_palette()), INDICES),
        (saved(with_palette(), transparency=0), INDICES),
        (saved(with_palette()), COLOURS),
        (saved(in_colours()), COLOURS),
        (saved(in_colours(), "BMP"), COLOURS),
        (saved(in_colours("RGBA")), COLOURS),
    ],
    ids=[
        "grey",
        "tiff",
        "grey as rgb",
        "palette",
        "transparent palette",
        "palette by colour",
        "rgb",
        "bmp",
        "opaque rgba",
    ],
)
def test_values_indices_and_colours_are_classes(data, known):
    found = Mask(data, known).classes
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, TRUTH)


def test_white_of_one_bit_per_pixel_is_255():
    data = saved(Image.fromarray((TRUTH == 1).astype(np.uint8) * 255).convert("1"))
    np.testing.assert_array_equal(Mask(data, CELL).classes, TRUTH == 1)


def test_255_classes_are_told_apart():
    known = tuple(MaskClass(f"c{value}", value) for value in reversed(range(255)))
    values = np.arange(255, dtype=np.uint8).reshape(15, 17)
    np.testing.assert_array_equal(Mask(saved(Image.fromarray(values)), known).classes, 254 - values)


@pytest.mark.parametrize(
    ("data", "known", "why"),
    [
        (saved(Image.fromarray(TRUTH)), CELL, "the value 1, in 8 of 12 pixels, is no class"),
        (saved(in_colours()), COLOURS[:2], "the colour #0000ff, in 5 of 12 pixels, is no class"),
        (saved(Image.fromarray(TRUTH * 100), "JPEG"), INDICES, "save masks as PNG"),
        (saved(in_colours()), INDICES, "name the classes by their colours"),
        (saved(with_palette(), transparency=0), COLOURS, "transparent pixels"),
        (cv2.imencode(".png", TRUTH.astype(np.uint16))[1].tobytes(), INDICES, "more than 8 bits"),
        (
            saved(Image.fromarray(TRUTH), "TIFF", save_all=True, append_images=[with_palette()]),
            INDICES,
            "several pages",
        ),
        (saved(Image.fromarray(TRUTH))[:45], INDICES, "corrupt or truncated"),
        (b"", INDICES, "the file is empty"),
        (b"<html>404</html>", INDICES, "a web page"),
    ],
)
def test_a_doubt_is_a_refusal(data, known, why):
    with pytest.raises(ImageError, match=why) as caught:
        Mask(data, known)
    assert isinstance(caught.value, UnknownClassError) == ("no class of" in str(caught.value))


@pytest.mark.parametrize("how", RESIZES)
@pytest.mark.parametrize("size", [(40, 30), (12, 20), (90, 90)])
def test_a_mask_is_resized_as_its_image_is(how, size):
    """A picture is black and white where its mask is: the mask follows where the picture turns
    grey.
    """
    rows, columns = np.mgrid[:37, :53]
    truth = ((np.hypot(rows - 18, columns - 22) < 12) * 255).astype(np.uint8)
    data = saved(Image.fromarray(truth))
    images = Feature("image", "image", "uint8", "png", (*size, 1), resize=how)
    found = Mask(data, CELL).like(images)
    assert found.shape == size
    seen = view(data, images.image_shape, how).pixels[..., 0]
    assert np.mean((seen > 127) == (found == 1)) > 0.97


def test_a_mask_is_turned_upright_as_its_image_is():
    exif = Image.Exif()
    exif[0x0112] = 6
    data = saved(Image.fromarray(TRUTH * 127), exif=exif)
    known = tuple(MaskClass(one.name, 127 * int(one.value)) for one in INDICES)
    np.testing.assert_array_equal(Mask(data, known).classes, np.rot90(TRUTH, -1))
    assert view(data, (4, 4, 1)).size == (4, 3)


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_the_size_of_a_file_that_is_decoded_at_reduced_size_is_that_of_the_whole(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = saved(Image.new("L", (801, 799)), "JPEG", exif=exif)
    assert view(data, (10, 10, 1)).size == ((799, 801) if orientation < 5 else (801, 799))
