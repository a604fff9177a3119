"""Which page of a TIFF file, or frame of a DICOM file, is the image: the group's choice."""

import io

import numpy as np
import pytest
import tifffile

from tests.trainer.images.dicom import dicom
from tests.trainer.images.files import (
    DEEP,
    FILES,
    GREY,
    HEIGHT,
    RGB,
    WIDTH,
    frames,
    pillow,
    tiff,
    with_another_page,
)
from trainer import images
from trainer.images import ImageError, Scale

GREYS = np.stack([GREY, GREY[::-1], np.full_like(GREY, 9)])
DEEPS = np.stack([DEEP, DEEP[::-1], np.full_like(DEEP, 900)])
FULL = Scale("full")


def lzw(pages: np.ndarray) -> bytes:
    from PIL import Image

    first, *others = map(Image.fromarray, pages)
    return pillow(first, "TIFF", compression="tiff_lzw", save_all=True, append_images=others)


SHALLOW = {
    "TIFF": tiff(GREYS),
    "TIFF, LZW": lzw(GREYS),
    "DICOM": dicom(GREYS, frames=3),
}
WITH_16_BITS = {
    "TIFF": tiff(DEEPS),
    "TIFF, LZW": lzw(DEEPS),
    "TIFF, big-endian": tiff(DEEPS, ">"),
    "DICOM": dicom(DEEPS, frames=3),
}


def view(data, pages=None, scale=None):
    return images.view(data, (HEIGHT, WIDTH, 1), scale=scale, pages=pages)


@pytest.mark.parametrize("kind", SHALLOW)
def test_a_file_of_several_is_refused_with_their_number(kind):
    name = "frames" if kind == "DICOM" else "pages"
    for data, scale in ((SHALLOW[kind], None), (WITH_16_BITS[kind], FULL)):
        with pytest.raises(ImageError, match=rf"of 3 {name}; say in source\.pages"):
            view(data, None, scale)


@pytest.mark.parametrize("kind", WITH_16_BITS)
@pytest.mark.parametrize(("pages", "index"), [("first", 0), ("1", 0), ("2", 1), ("3", 2)])
def test_the_page_that_is_named_is_the_image(kind, pages, index):
    seen = view(WITH_16_BITS[kind], pages, FULL)
    assert np.array_equal(seen.pixels[..., 0], DEEPS[index])
    assert seen.lost == ("frames",)
    if kind in SHALLOW:
        assert np.array_equal(view(SHALLOW[kind], pages).pixels[..., 0], GREYS[index])


@pytest.mark.parametrize("kind", WITH_16_BITS)
def test_the_mean_is_of_the_values_of_all(kind):
    seen = view(WITH_16_BITS[kind], "mean", FULL)
    assert np.array_equal(seen.pixels[..., 0], np.rint(DEEPS.mean(axis=0)))
    assert seen.lost == ("rounded",)
    if kind in SHALLOW:
        found = view(SHALLOW[kind], "mean")
        assert np.array_equal(found.pixels[..., 0], np.rint(GREYS.mean(axis=0)))
        assert found.lost == ()


@pytest.mark.parametrize("kind", SHALLOW)
def test_a_page_that_is_not_there_is_refused_with_the_number_of_those_that_are(kind):
    with pytest.raises(ImageError, match=r"of 3 \w+; source\.pages names number 4"):
        view(SHALLOW[kind], "4")
    one = dicom(GREY) if kind == "DICOM" else tiff(GREY)
    with pytest.raises(ImageError, match=r"of 1 (page|frame); source\.pages names number 4"):
        view(one, "4")


@pytest.mark.parametrize("pages", ["first", "mean", "1"])
@pytest.mark.parametrize("name", ["JPEG, grey", "PNG, grey", "TIFF, 0 is white", "DICOM"])
def test_a_file_of_one_page_is_the_same_by_any_choice(name, pages):
    data = FILES[name].data
    assert np.array_equal(view(data, pages).pixels, view(data).pixels)


def test_a_thumbnail_is_no_page():
    thumbnail = {"data": GREY[::2, ::2].copy(), "subfiletype": 1}
    data = with_another_page({"data": GREY}, thumbnail)
    assert np.array_equal(view(data, "mean").pixels[..., 0], GREY)
    with pytest.raises(ImageError, match="of 1 page"):
        view(data, "2")


@pytest.mark.parametrize("other", [GREY[:-2].copy(), DEEP, RGB])
def test_pages_that_differ_are_refused(other):
    data = with_another_page({"data": GREY, "photometric": "minisblack"}, {"data": other})
    for pages in ("2", "mean"):
        with pytest.raises(ImageError, match="differ in size or type"):
            view(data, pages)
    assert np.array_equal(view(data, "first").pixels[..., 0], GREY)


def test_of_a_stack_in_one_page_the_first_plane_is_read():
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, DEEPS, imagej=True)
    data = buffer.getvalue()
    if len(tifffile.TiffFile(io.BytesIO(data)).pages) > 1:
        pytest.skip("tifffile writes a page for each plane")
    assert np.array_equal(view(data, "first", FULL).pixels[..., 0], DEEP)
    with pytest.raises(ImageError, match="all its planes as one page"):
        view(data, "2", FULL)


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "MPO"])
def test_of_an_animation_the_first_frame_is_read_and_no_other(kind):
    data = frames(kind)
    first = view(data, "first")
    assert np.array_equal(first.pixels, view(data).pixels)
    assert "frames" in first.lost
    for pages in ("2", "mean"):
        with pytest.raises(ImageError, match="only the first is read"):
            view(data, pages)


def test_a_mean_of_too_many_pixels_is_refused_before_any_is_read():
    frame = np.zeros((64, 64), np.uint8)
    data = dicom(np.stack([frame]), frames=1)
    # The header alone says it: there are no such frames.
    many = data.replace(b"\x28\0\x08\0IS\x02\x001 ", b"\x28\0\x08\0IS\x06\x0099999 ")
    assert many != data
    with pytest.raises(ImageError, match=r"too large for a mean: 99999 times 4,096 pixels"):
        view(many, "mean")
    assert np.array_equal(view(data, "mean").pixels, view(data).pixels)


def test_transparent_pages_have_a_mean():
    transparent = np.dstack([GREY, GREY, GREY, np.full_like(GREY, 128)])
    pages = {"photometric": "rgb", "extrasamples": ["unassalpha"]}
    data = tiff(np.stack([transparent, transparent]), **pages)
    assert np.array_equal(view(data, "mean").pixels, view(data, "1").pixels)


@pytest.mark.parametrize("count", [8, 9, 20])
def test_many_pages_are_counted(count):
    stack = np.stack([GREY + index for index in range(count)])
    with pytest.raises(ImageError, match=f"of {count} pages"):
        view(tiff(stack))
    assert np.array_equal(view(tiff(stack), str(count)).pixels[..., 0], stack[-1])
