"""A client's image file -> bytes of bounded size that the model's signature reads.

The signature decodes as training did (trainer.preprocessing), with TensorFlow, which neither
applies an EXIF rotation nor composes transparency over white. The export did both, with its own
decoder, for every image that the model was trained on. So anything but a plain JPEG or PNG goes
through the export's decoder here, so that the model gets it as in training.
"""

import warnings
from dataclasses import dataclass

import cv2
from PIL import ExifTags, Image

from trainer.exporting.images import convert as exported
from trainer.exporting.images.convert import ImageError
from trainer.serving.limits import MAX_PIXELS

# Pillow warns of large images on its own, from 89 megapixels on; the bound here is lower.
warnings.simplefilter("ignore", Image.DecompressionBombWarning)

# MPO: a JPEG followed by further images, as some phones write.
_JPEG = ("JPEG", "MPO")

# Each scan of a progressive JPEG takes few bytes and a pass over the whole image; encoders write
# about ten.
_MAX_SCANS = 100
_SCAN_MARKER = b"\xff\xda"

_UPRIGHT = 1

_FASTEST_PNG = (
    cv2.IMWRITE_PNG_COMPRESSION,
    0,
    cv2.IMWRITE_PNG_FILTER,
    cv2.IMWRITE_PNG_FILTER_NONE,
)

# An image that is not plain is decoded twice and encoded once: its cost per pixel, relative to a
# plain one.
_UNUSUAL_COST = 8


@dataclass(frozen=True)
class EncodedImage:
    """An image file whose header has been read. pixels: height times width."""

    data: bytes
    height: int
    width: int
    is_plain: bool

    @property
    def pixels(self) -> int:
        return self.height * self.width

    @property
    def cost(self) -> int:
        """The work of decoding it, in pixels of a plain image."""
        return self.pixels if self.is_plain else _UNUSUAL_COST * self.pixels

    def as_plain(self) -> "EncodedImage":
        """The image as the model's signature accepts it. Raises ImageError."""
        if self.is_plain:
            return self
        pixels = exported.decode(self.data, self.height, self.width, channels=3)
        # The model decodes it right away: speed matters more than size.
        encoded, buffer = cv2.imencode(".png", pixels, _FASTEST_PNG)
        if not encoded:
            raise ImageError("OpenCV cannot encode it as PNG")
        height, width = pixels.shape[:2]
        return EncodedImage(buffer.tobytes(), height, width, is_plain=True)


def inspect(data: bytes) -> EncodedImage:
    """Read an image file's header. Raises ImageError if it is no image, or too large.

    Only the decoder finds out whether the rest of the file is intact.
    """
    header = exported.read_header(data)
    width, height = header.size
    if width * height > MAX_PIXELS:
        raise ImageError(
            f"{width} x {height} pixels are {width * height / 1e6:.1f} megapixels; the limit is "
            f"{MAX_PIXELS / 1e6:.1f}: send a smaller image"
        )
    if header.format in _JPEG and data.count(_SCAN_MARKER) > _MAX_SCANS:
        raise ImageError(f"a progressive JPEG of more than {_MAX_SCANS} scans")
    return EncodedImage(data, height, width, _is_plain(header, data))


def _is_plain(header: Image.Image, data: bytes) -> bool:
    if header.mode not in ("L", "RGB") or header.has_transparency_data:
        return False
    if header.format in _JPEG:
        return _is_upright(header)
    # To read a PNG's EXIF chunk, which may come last, Pillow would decode everything before it.
    animated = getattr(header, "is_animated", False)  # an attribute of some formats' classes
    return header.format == "PNG" and not animated and b"eXIf" not in data


def _is_upright(header: Image.Image) -> bool:
    try:
        return header.getexif().get(ExifTags.Base.Orientation, _UPRIGHT) == _UPRIGHT
    except Exception:  # damaged EXIF raises struct.error, SyntaxError and others
        return False
