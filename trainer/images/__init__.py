"""An image file -> the pixels that a model sees. Export and serving both call `pixels`.

What a dataset holds and what an endpoint makes of the same file are therefore equal to the bit: the
same code and pinned libraries, whose results depend neither on the processor's instructions nor on
threads (tests/trainer/test_images.py).

    header     reads what kind of file it is, and what it holds beside the pixels
    tiff       the same of TIFF files, and their deep samples
    dicom      the same of DICOM files
    pages      which page or frame of several is the image
    decoding   decodes it
    scale      how deep samples become pixels
    resizing   how an image of another shape becomes the requested one
    losses     the kinds of what a file holds and the model is not given
    masks      a mask's file, with the class of each pixel of an image

docs/how-to/image-files.md has all kinds of files. Choices that affect a model:

- rotation: the EXIF orientation is applied
- size: see `resizing`
- channels: 3 is RGB (grey images are repeated), 1 is luma (0.299 R + 0.587 G + 0.114 B)
- transparency: composed over white; dropping the alpha channel would show whatever colour the
  drawing program left under transparent pixels, most often black
- more than 8 bits per channel: by `scale`; without one, such a file is refused
- several pages of a TIFF file or frames of a DICOM file: by `pages`; without a choice, such a file
  is refused
- CMYK is converted, another colour profile is not applied, and of an animation the first frame is
  used: `view` says so
"""

from dataclasses import dataclass

import cv2
import numpy as np

from trainer.images import decoding
from trainer.images.errors import DeepImageError, ImageError
from trainer.images.header import FORMATS, Header, read_header
from trainer.images.losses import TEXTS, Loss
from trainer.images.resizing import largest_within, resize
from trainer.images.scale import Scale
from trellis_contracts.dataset_features import Pages, Resize

__all__ = [
    "FORMATS",
    "TEXTS",
    "DeepImageError",
    "Header",
    "ImageError",
    "Loss",
    "Scale",
    "View",
    "decode",
    "largest_within",
    "pixels",
    "read_header",
    "resize",
    "view",
]


@dataclass(frozen=True)
class View:
    """The pixels of a file that a model sees, as `pixels` returns them. lost: what the file holds
    beyond them. size: (height, width) of the whole file, upright.
    """

    pixels: np.ndarray
    lost: tuple[Loss, ...]
    size: tuple[int, int]


def pixels(
    data: bytes,
    shape: tuple[int, int, int],
    how: Resize = "stretch",
    scale: Scale | None = None,
    pages: Pages | None = None,
) -> np.ndarray:
    """The image file in `data` as a model sees it: (height, width, channels), grey or RGB; uint8,
    or uint16 by a scale.

    Raises ImageError.
    """
    return view(data, shape, how, scale, pages).pixels


def view(
    data: bytes,
    shape: tuple[int, int, int],
    how: Resize = "stretch",
    scale: Scale | None = None,
    pages: Pages | None = None,
) -> View:
    """Return the pixels and the list of what is lost. Raises ImageError."""
    height, width, channels = shape
    header = read_header(data)
    decoded, lost = decoding.decode(data, header, shape, scale, pages)
    lost = header.lost + lost
    if channels == 1 and not header.grey:
        lost += ("colour",)
    resized = resize(decoded, height, width, how)
    found = resized[..., np.newaxis] if channels == 1 else cv2.cvtColor(resized, cv2.COLOR_BGR2RGB)
    return View(found, lost, header.upright(decoded.shape[:2]))


def decode(
    data: bytes, height: int, width: int, channels: int, scale: Scale | None = None
) -> np.ndarray:
    """Upright pixels of an image file: (h, w) for 1 channel, (h, w, 3) in BGR order for 3; uint8,
    or uint16 by a scale.

    A large JPEG may be decoded at reduced size, never below height or width. Raises ImageError.
    """
    return decoding.decode(data, read_header(data), (height, width, channels), scale, None)[0]
