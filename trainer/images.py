"""An image file -> the pixels that a model sees. Export and serving both call `pixels`.

What a dataset holds and what an endpoint makes of the same file are therefore equal to the bit: the
same code and pinned libraries, whose results depend neither on the processor's instructions nor on
threads (tests/trainer/test_images.py).

OpenCV decodes: two to four times faster than Pillow on PNG and on large JPEG, equal otherwise
(benchmarks/speed/images.py). Pillow first reads the header (format, size, pixel type) without
decoding, and decodes transparent images, which OpenCV gets wrong. Choices that affect a model:

- rotation: the EXIF orientation is applied
- size: INTER_AREA where an axis shrinks (each pixel is the mean of those it covers: no aliasing),
  bilinear where it grows
- an image of another shape than the requested one: stretch changes its proportions; letterbox keeps
  them and all of the image, between black bars, as TensorFlow's resize_with_pad does; crop keeps
  them, and of the image the largest part around its middle, as Keras's smart_resize does
- channels: 3 is RGB (grey images are repeated), 1 is luma (0.299 R + 0.587 G + 0.114 B)
- transparency: composed over white; dropping the alpha channel would show whatever colour the
  drawing program left under transparent pixels, most often black
- 16 bits per channel: the upper 8 are kept. CMYK is converted. Only the first frame of an animation
  is used.
"""

import io

import cv2
import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from trainer.dataset_features import Resize

# Formats that both libraries read. Vertex AI imports JPEG, PNG, GIF, BMP, and ICO, which OpenCV
# cannot read.
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF")

# Pillow's names of pixel types with 8 or 16 bits per channel. Not here: 32-bit integers, floats,
# Lab.
_PIXEL_TYPES = {"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"}
_PIXEL_TYPES |= {"I;16", "I;16L", "I;16B"}

# libjpeg decodes at 1/2, 1/4 or 1/8 of the size in a fraction of the time.
_REDUCED = {
    (1, 1): cv2.IMREAD_GRAYSCALE,
    (1, 2): cv2.IMREAD_REDUCED_GRAYSCALE_2,
    (1, 4): cv2.IMREAD_REDUCED_GRAYSCALE_4,
    (1, 8): cv2.IMREAD_REDUCED_GRAYSCALE_8,
    (3, 1): cv2.IMREAD_COLOR_BGR,
    (3, 2): cv2.IMREAD_REDUCED_COLOR_2,
    (3, 4): cv2.IMREAD_REDUCED_COLOR_4,
    (3, 8): cv2.IMREAD_REDUCED_COLOR_8,
}


# Callers have threads of their own, and tell what is wrong with a file themselves.
cv2.setNumThreads(1)
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)


class ImageError(ValueError):
    """Bytes that are no image of a kind that is read; the message says why."""


def pixels(data: bytes, shape: tuple[int, int, int], how: Resize = "stretch") -> np.ndarray:
    """The image file in `data` as a model sees it: (height, width, channels) uint8, grey or RGB.

    Raises ImageError.
    """
    height, width, channels = shape
    resized = resize(decode(data, height, width, channels), height, width, how)
    if channels == 1:
        return resized[..., np.newaxis]
    return cv2.cvtColor(resized, cv2.COLOR_BGR2RGB)


def decode(data: bytes, height: int, width: int, channels: int) -> np.ndarray:
    """Upright uint8 pixels of an image file: (h, w) for 1 channel, (h, w, 3) in BGR order for 3.

    A large JPEG may be decoded at reduced size, never below height or width. Raises ImageError.
    """
    header = read_header(data)
    if header.has_transparency_data:
        return _decode_transparent(header, channels)
    reduction = 1
    if header.format in ("JPEG", "MPO"):
        # The header has the size before rotation: compare its short side with the longer target,
        # so that either orientation leaves enough pixels.
        reduction = _reduction(min(header.size), max(height, width))
    try:
        decoded = cv2.imdecode(np.frombuffer(data, np.uint8), _REDUCED[channels, reduction])
    except cv2.error as error:
        raise ImageError(f"corrupt {header.format} image: {error.err}") from error
    if decoded is None:
        raise ImageError(f"corrupt or truncated {header.format} image")
    return decoded


def resize(decoded: np.ndarray, height: int, width: int, how: Resize = "stretch") -> np.ndarray:
    """An image as one of (height, width); the module's docstring has the three ways."""
    if how == "crop":
        part = largest_within(decoded.shape[:2], (height, width))
        return _stretch(_middle(decoded, *part), height, width)
    if how == "letterbox":
        inner = largest_within((height, width), decoded.shape[:2])
        return _with_bars(_stretch(decoded, *inner), height, width)
    return _stretch(decoded, height, width)


def largest_within(size: tuple[int, int], proportions: tuple[int, int]) -> tuple[int, int]:
    """The largest (height, width) of these proportions within `size`; at least one pixel."""
    height, width = size
    h, w = proportions
    return max(1, min(height, width * h // w)), max(1, min(width, height * w // h))


def _middle(decoded: np.ndarray, height: int, width: int) -> np.ndarray:
    top, left = (decoded.shape[0] - height) // 2, (decoded.shape[1] - width) // 2
    return decoded[top : top + height, left : left + width]


def _with_bars(decoded: np.ndarray, height: int, width: int) -> np.ndarray:
    above, before = (height - decoded.shape[0]) // 2, (width - decoded.shape[1]) // 2
    below, after = height - decoded.shape[0] - above, width - decoded.shape[1] - before
    return cv2.copyMakeBorder(decoded, above, below, before, after, cv2.BORDER_CONSTANT, value=0)


def _stretch(decoded: np.ndarray, height: int, width: int) -> np.ndarray:
    """To (height, width): area means where an axis shrinks, bilinear where it grows."""
    smaller = min(decoded.shape[0], height), min(decoded.shape[1], width)
    for (h, w), interpolation in (
        (smaller, cv2.INTER_AREA),
        ((height, width), cv2.INTER_LINEAR),
    ):
        if decoded.shape[:2] != (h, w):
            decoded = cv2.resize(decoded, (w, h), interpolation=interpolation)
    return decoded


def read_header(data: bytes) -> Image.Image:
    """Format, size, pixel type and metadata, without decoding. Raises ImageError."""
    if not data:
        raise ImageError("the file is empty")
    try:
        header = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError as error:
        raise ImageError(f"not an image in one of {', '.join(FORMATS)}") from error
    except Image.DecompressionBombError as error:
        raise ImageError(f"too large: {error}") from error
    except Exception as error:  # Pillow's readers raise struct.error, SyntaxError and others
        raise ImageError(f"unreadable image header: {error}") from error
    if header.mode not in _PIXEL_TYPES:
        raise ImageError(
            f"{header.format} with pixels of type {header.mode}; expected 8 or 16 bits per channel"
        )
    return header


def _reduction(short_side: int, needed: int) -> int:
    return next((factor for factor in (8, 4, 2) if short_side // factor >= needed), 1)


def _decode_transparent(header: Image.Image, channels: int) -> np.ndarray:
    try:
        upright = ImageOps.exif_transpose(header).convert("RGBA")
    except Exception as error:  # as in read_header: readers raise exceptions of their own
        raise ImageError(f"corrupt or truncated {header.format} image") from error
    composed = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright)
    conversion = cv2.COLOR_RGBA2GRAY if channels == 1 else cv2.COLOR_RGBA2BGR
    return cv2.cvtColor(np.asarray(composed), conversion)
