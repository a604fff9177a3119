"""A client's image file, read no further than its header: what it will cost, whether to refuse it.

trainer.images decodes it afterwards, as it decoded the files that the model was trained on.
"""

import warnings
from dataclasses import dataclass

from PIL import Image

from trainer import images
from trainer.images import ImageError
from trainer.serving.limits import MAX_PIXELS

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
    pixel takes more memory than one of 8 bits per channel.
    """

    data: bytes
    cost: int


def inspect(data: bytes) -> EncodedImage:
    """Read an image file's header. Raises ImageError if it is no image, or too large.

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
    return EncodedImage(data, cost)
