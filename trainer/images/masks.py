"""A mask's file -> the class of each pixel of its image.

A mask has its classes as values: of a grey image 0 to 255 (white of one bit per pixel is 255), of
one with a palette the palette's indices, or as colours. The values are compared, never rounded: one
that is no class makes the mask unusable, as does all that would leave a pixel in doubt, such as
transparency or several pages. docs/how-to/segmentation.md says what fits.
"""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageOps

from trainer.images.errors import ImageError
from trainer.images.header import read_header
from trainer.images.resizing import resize
from trellis_contracts.columns import MaskClass
from trellis_contracts.dataset_features import Feature

BACKGROUND = 0
"""The first of the classes."""

_UNKNOWN = 255
"""No index of a class, of which there are 255 at most."""


class UnknownClassError(ImageError):
    """A mask with a value that is no class."""


class Mask:
    """A mask as its file has it. classes: (height, width) uint8, the index of each pixel's class,
    upright. Raises ImageError.
    """

    def __init__(self, data: bytes, known: Sequence[MaskClass]):
        self.classes = _classes(data, known)

    def like(self, images: Feature) -> np.ndarray:
        """(height, width) uint8: of the size of these images, resized as they are, each pixel with
        the class of the nearest one.
        """
        height, width, _ = images.image_shape
        return resize(self.classes, height, width, images.image_resize, nearest=True)


def _classes(data: bytes, known: Sequence[MaskClass]) -> np.ndarray:
    of_colours = isinstance(known[0].value, str)
    values = _colours(data) if of_colours else _values(data)
    codes = [int(str(one.value)[1:], 16) if of_colours else int(one.value) for one in known]
    order = np.argsort(codes)
    places = np.searchsorted(codes, values, sorter=order).clip(max=len(codes) - 1)
    found = order[places].astype(np.uint8)
    found[np.array(codes)[found] != values] = _UNKNOWN
    if (unknown := found == _UNKNOWN).any():
        first = int(values[unknown][0])
        shown = f"colour #{first:06x}" if of_colours else f"value {first}"
        raise UnknownClassError(
            f"the {shown}, in {np.count_nonzero(unknown):,} of {found.size:,} pixels, is no class "
            f"of source.masks{_changed(data)}"
        )
    return found


def _changed(data: bytes) -> str:
    """A hint, of a format that does not keep values."""
    is_jpeg = read_header(data).format in ("JPEG", "MPO")
    return ": a JPEG file changes values, save masks as PNG" if is_jpeg else ""


def _values(data: bytes) -> np.ndarray:
    """(height, width) uint8."""
    opened = _opened(data)
    if opened.mode == "P":
        return _pixels(opened, "P")
    if opened.mode in ("1", "L"):
        return _pixels(opened, "L")
    colours = _pixels(opened, "RGB")
    if (colours != colours[..., :1]).any():
        raise ImageError(
            "a mask in colours, and source.masks has values: name the classes by their colours, "
            "such as '#ff0000'"
        )
    return colours[..., 0]


def _colours(data: bytes) -> np.ndarray:
    """(height, width) int64, 0xRRGGBB."""
    pixels = _pixels(_opened(data), "RGB").astype(np.int64)
    return pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]


def _opened(data: bytes) -> Image.Image:
    header = read_header(data)
    if header.deep is not None or header.opened is None:
        raise ImageError(
            f"a {header.format} mask of more than 8 bits per channel or with a window; save it as "
            "PNG with 8"
        )
    if header.pages > 1 or "frames" in header.lost:
        raise ImageError(f"a {header.format} mask of several pages; save one of them as PNG")
    if header.opened.mode == "CMYK":
        raise ImageError("a mask in CMYK; save it as PNG")
    return header.opened


def _pixels(opened: Image.Image, mode: str) -> np.ndarray:
    try:
        upright = ImageOps.exif_transpose(opened)
        if mode != "P" and upright.has_transparency_data:
            alpha = np.asarray(upright.convert("RGBA"))[..., 3]
            if alpha.min() < 255:
                raise ImageError("a mask with transparent pixels; save it without transparency")
        return np.asarray(upright if upright.mode == mode else upright.convert(mode))
    except ImageError:
        raise
    except Exception as error:  # as in read_header: readers raise exceptions of their own
        raise ImageError(f"corrupt or truncated {opened.format} image") from error
