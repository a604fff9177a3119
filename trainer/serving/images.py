"""What a client calls an image -> bytes that the model's signature reads, of bounded size.

The signature decodes as training did (trainer.preprocessing), with TensorFlow, which neither
applies an EXIF rotation nor composes transparency over white. The export did both, with its own
decoder, for every image that the model was trained on. So what is not a plain JPEG or PNG goes
through the export's decoder here, and reaches the model as the model knows images.
"""

import warnings
from dataclasses import dataclass

import cv2
from PIL import ExifTags, Image

from trainer.exporting import images as exported
from trainer.exporting.images import ImageError
from trainer.serving.limits import MAX_PIXELS

# Pillow warns of large images on its own, from 89 megapixels on; the bound here is lower.
warnings.simplefilter("ignore", Image.DecompressionBombWarning)

# MPO: a JPEG with further pictures behind it, as some phones write.
_JPEG = ("JPEG", "MPO")

# Each scan of a progressive JPEG passes over the whole image, and costs few bytes; encoders write
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

# What an unusual image costs compared with a plain one of its size: decoded twice, written once.
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
        """How much work it is until the model sees it, in pixels of a plain image."""
        return self.pixels if self.is_plain else _UNUSUAL_COST * self.pixels

    def as_plain(self) -> "EncodedImage":
        """The image as the model's signature takes it. Raises ImageError."""
        if self.is_plain:
            return self
        pixels = exported.decode(self.data, self.height, self.width, channels=3)
        # Only for the moment until the model decodes it: speed before size.
        encoded, buffer = cv2.imencode(".png", pixels, _FASTEST_PNG)
        if not encoded:
            raise ImageError("OpenCV cannot encode it as PNG")
        return EncodedImage(buffer.tobytes(), *pixels.shape[:2], is_plain=True)


def inspect(data: bytes) -> EncodedImage:
    """Look at an image file's header. Raises ImageError if it is no image, or too large.

    That the rest of the file is whole is seen by the decoder only.
    """
    header = exported.read_header(data)
    width, height = header.size
    if width * height > MAX_PIXELS:
        raise ImageError(
            f"{width} x {height} pixels are {width * height / 1e6:.1f} megapixels, "
            f"at most {MAX_PIXELS / 1e6:.1f} are read: send it smaller"
        )
    if header.format in _JPEG and data.count(_SCAN_MARKER) > _MAX_SCANS:
        raise ImageError(f"a progressive JPEG of more than {_MAX_SCANS} scans")
    return EncodedImage(data, height, width, _is_plain(header, data))


def _is_plain(header: Image.Image, data: bytes) -> bool:
    if header.mode not in ("L", "RGB") or header.has_transparency_data:
        return False
    if header.format in _JPEG:
        return _is_upright(header)
    # For a PNG's EXIF chunk, which may come last, Pillow would decode all that is before it.
    return header.format == "PNG" and not header.is_animated and b"eXIf" not in data


def _is_upright(header: Image.Image) -> bool:
    try:
        return header.getexif().get(ExifTags.Base.Orientation, _UPRIGHT) == _UPRIGHT
    except Exception:  # damaged EXIF raises struct.error, SyntaxError and others
        return False
