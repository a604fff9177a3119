"""A client's image file, read no further than its header: what it will cost, whether to refuse it.

trainer.images decodes it afterwards, as it decoded the files that the model was trained on: the
model's ImageInput says how.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from trainer import images
from trainer.images import ImageError, Scale
from trainer.serving.limits import MAX_PIXELS
from trellis_contracts.dataset_features import Pages, Resize

# Pillow warns of large images on its own, from 89 megapixels on; the bound here is lower.
warnings.simplefilter("ignore", Image.DecompressionBombWarning)

# MPO: a JPEG followed by further images, as some phones write.
_JPEG = ("JPEG", "MPO")

# Each scan of a progressive JPEG takes few bytes and a pass over the whole image; encoders write
# about ten.
_MAX_SCANS = 100
_SCAN_MARKER = b"\xff\xda"


@dataclass(frozen=True)
class EncodedImage:
    """An image file whose header has been read. cost: its pixels, height times width; more if a
    pixel takes more memory than one of 8 bits per channel. path: the field of the instance that
    holds it, for messages.
    """

    data: bytes
    cost: int
    path: str = field(default="", compare=False)


@dataclass(frozen=True)
class ImageInput:
    """What a model takes of an image file. shape: height, width, channels. resize: how a file of
    another shape becomes that size. scale: how a file's values become 16 bits; None: pixels are
    uint8. pages: which of a file's pages; None: files of several are refused.
    """

    shape: tuple[int, int, int]
    resize: Resize = "stretch"
    scale: Scale | None = None
    pages: Pages | None = None

    @property
    def type(self) -> np.dtype:
        """Type of the pixels."""
        return np.dtype(np.uint8 if self.scale is None else np.uint16)

    @property
    def white(self) -> int:
        """The largest value of a pixel."""
        return int(np.iinfo(self.type).max)

    @property
    def size(self) -> int:
        """Number of pixels."""
        return self.shape[0] * self.shape[1]

    def pixels(self, data: bytes) -> np.ndarray:
        """The pixels (height, width, channels) of an image file. Raises ImageError."""
        return images.pixels(data, self.shape, self.resize, self.scale, self.pages)

    def stored(self, data: bytes) -> np.ndarray:
        """Pixels of an image as a dataset of such images stores it: it is scaled already."""
        return images.pixels(data, self.shape, scale=None if self.scale is None else Scale("full"))


def inspect(data: bytes, path: str = "") -> EncodedImage:
    """Read an image file's header. path: as in EncodedImage. Raises ImageError if it is no image,
    or too large.

    Only the decoder finds out whether the rest of the file is intact.
    """
    header = images.read_header(data)
    width, height = header.size
    # Four bytes: of RGB, and of what OpenCV decodes it to.
    cost = width * height * -(-header.pixel_bytes // 4)
    if cost > MAX_PIXELS:
        limit = MAX_PIXELS * width * height / cost
        raise ImageError(
            f"{width} x {height} pixels are {width * height / 1e6:.1f} megapixels; the limit is "
            f"{limit / 1e6:.1f}: send a smaller image"
        )
    if header.format in _JPEG and data.count(_SCAN_MARKER) > _MAX_SCANS:
        raise ImageError(f"a progressive JPEG of more than {_MAX_SCANS} scans")
    return EncodedImage(data, cost, path)
